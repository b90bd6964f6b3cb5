#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/text_parser.h"

namespace autotune {
namespace {

bool IsAsync(HloOpcode opcode) {
  return opcode == HloOpcode::kAsyncStart || opcode == HloOpcode::kAsyncUpdate ||
         opcode == HloOpcode::kAsyncDone;
}

// The async-start at the head of the chain that the instruction belongs to.
const HloInstruction& ChainHead(const HloInstruction& instruction) {
  const HloInstruction* head = &instruction;
  while (head->opcode() != HloOpcode::kAsyncStart && head->operand_count() > 0 &&
         IsAsync(head->operand(0).opcode())) {
    head = &head->operand(0);
  }
  return *head;
}

}  // namespace

// Either `async-start(...), calls=computation`, or sugared: `OPCODE-start(...), ...`, whose
// attributes are those of OPCODE and which makes a computation around it.
bool TextParser::AsyncInstruction(Pending* p, HloOpcode wrapped, bool sugar,
                                  bool allow_attributes) {
  const HloOpcode opcode = p->f->opcode;
  if (!p->has_shape) return Fail(p->offset, "an asynchronous instruction needs a shape before it");
  if (opcode == HloOpcode::kAsyncStart) {
    const Shape& shape = *p->f->shape;
    if (!shape.IsTuple() || shape.tuple_shapes().size() < 2 || !shape.tuple_shapes(0).IsTuple()) {
      return Fail(p->offset, absl::StrCat("the shape of an async-start must be ((operands...), "
                                          "result, context...), got ",
                                          shape.ToString(false)));
    }
  } else if (!CheckAsyncChain(*p, wrapped, sugar)) {
    return false;
  }
  const bool wraps = sugar && opcode == HloOpcode::kAsyncStart;
  const OpcodeRule& rule = RuleOf(opcode);
  AttributeSet allowed = rule.allowed;
  AttributeSet required = sugar ? AttributeSet() : rule.required;
  if (wraps) {
    allowed = RuleOf(wrapped).allowed;
    allowed.Insert(Attribute::kAsyncExecutionThread);
    allowed.Insert(Attribute::kOutputToOperandAliasing);
    required = RuleOf(wrapped).required;
  }
  if (!allow_attributes) allowed = AttributeSet();
  if (!Attributes(p, allowed, required)) return false;
  if (opcode != HloOpcode::kAsyncStart) {
    const HloInstruction& head = ChainHead(*p->operands[0]);
    if (!p->computations.empty() && p->computations[0] != head.called_computations()[0]) {
      return Fail(p->attributes_offset, "calls= differs from that of the async-start");
    }
    const std::string& thread = head.attributes().async_execution_thread();
    if (p->seen.Has(Attribute::kAsyncExecutionThread) && p->async_execution_thread != thread &&
        !(thread.empty() && p->async_execution_thread == "main")) {
      return Fail(p->attributes_offset,
                  "async_execution_thread differs from that of the async-start");
    }
    // These belong to the async-start alone.
    p->computations.clear();
    ShareWithWrapped(*p, head.called_computations()[0]->root());
    return true;
  }
  if (wraps && !WrapAsync(p, wrapped)) return false;
  if (p->computations.empty()) return Fail(p->attributes_offset, "async-start needs calls=");
  if (!p->async_execution_thread.empty() && p->async_execution_thread != "main") {
    AttributesOf(p)->set_async_execution_thread(p->async_execution_thread);
  }
  const HloComputation* callee = p->computations[0];
  if (!async_computations_.insert(callee).second) {
    return Fail(p->offset, absl::StrCat("the computation ", callee->name(),
                                        " is called by another async-start already"));
  }
  ShareWithWrapped(*p, callee->root());
  const bool main = p->async_execution_thread.empty() || p->async_execution_thread == "main";
  has_threads_ = has_threads_ || !main;
  if (has_threads_) {
    SetThread(callee, main ? "main" : builder_->Copy(p->async_execution_thread));
  }
  return true;
}

// What is said of one of the instructions of a chain is said of the wrapped instruction too; the
// last word counts.
void TextParser::ShareWithWrapped(const Pending& p, const HloInstruction& wrapped) {
  ModuleBuilder::Instruction& to = builder_->Edit(const_cast<HloInstruction*>(&wrapped));
  if (p.seen.Has(Attribute::kMetadata)) to.metadata = p.f->metadata;
  if (p.seen.Has(Attribute::kBackendConfig)) to.backend_config = p.f->backend_config;
  const bool frontend = p.seen.Has(Attribute::kFrontendAttributes);
  const bool statistics = p.seen.Has(Attribute::kStatistics);
  const bool origin = p.seen.Has(Attribute::kOrigin);
  if (!frontend && !statistics && !origin) return;
  P* attributes = MutableAttributes(&to);
  const P& from = *p.f->attributes;
  if (frontend) *attributes->mutable_frontend_attributes() = from.frontend_attributes();
  if (statistics) *attributes->mutable_statistics_viz() = from.statistics_viz();
  if (origin) *attributes->mutable_original_value() = from.original_value();
}

// The attributes of an instruction that was put together before.
proto::HloInstructionProto* TextParser::MutableAttributes(ModuleBuilder::Instruction* f) {
  if (f->attributes == &P::default_instance()) f->attributes = builder_->NewMessage<P>();
  return const_cast<P*>(f->attributes);
}

// Everything that an async-start calls runs on its thread.
void TextParser::SetThread(const HloComputation* callee, absl::string_view thread) {
  std::vector<const HloComputation*> pending = {callee};
  while (!pending.empty()) {
    const HloComputation* computation = pending.back();
    pending.pop_back();
    absl::string_view& last = threads_[computation];
    if (last == thread) continue;
    last = thread;
    builder_->Edit(const_cast<HloComputation*>(computation)).execution_thread = thread;
    for (const HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() == HloOpcode::kAsyncStart) {
        ModuleBuilder::Instruction& start =
            builder_->Edit(const_cast<HloInstruction*>(instruction));
        MutableAttributes(&start)->set_async_execution_thread(
            thread == "main" ? "" : std::string(thread));
      }
      for (const HloComputation* nested : instruction->called_computations()) {
        pending.push_back(nested);
      }
    }
  }
}

bool TextParser::CheckAsyncChain(const Pending& p, HloOpcode wrapped, bool sugar) {
  const HloInstruction& operand = *p.operands[0];
  if (!IsAsync(operand.opcode()) || operand.opcode() == HloOpcode::kAsyncDone) {
    return Fail(p.offset, absl::StrCat(HloOpcodeName(p.f->opcode),
                                       " needs an async-start or async-update as its operand"));
  }
  if (p.f->opcode == HloOpcode::kAsyncUpdate && operand.shape() != *p.f->shape) {
    return Fail(p.offset, "an async-update must have the shape of its operand");
  }
  if (!sugar) return true;
  const HloOpcode actual = ChainHead(operand).called_computations()[0]->root().opcode();
  if (actual == wrapped) return true;
  return Fail(p.offset, absl::StrCat("the async-start wraps ", HloOpcodeName(actual), ", not ",
                                     HloOpcodeName(wrapped)));
}

// Moves the operands' parameters, the opcode and its attributes into a computation of its own.
bool TextParser::WrapAsync(Pending* p, HloOpcode wrapped) {
  scopes_.emplace_back();
  Pending inner;
  for (const HloInstruction* operand : p->operands) {
    const int64_t number = static_cast<int64_t>(inner.operands.size());
    inner.operands.push_back(NewParameter("async_param", &operand->shape(), number));
  }
  inner.instruction = builder_->NewInstruction();
  inner.f = &builder_->Edit(inner.instruction);
  inner.f->opcode = wrapped;
  inner.f->line = p->f->line;
  inner.f->shape = builder_->Intern(p->f->shape->tuple_shapes(1));
  inner.f->dimensions = p->f->dimensions;
  inner.f->index = p->f->index;
  inner.f->metadata = p->f->metadata;
  inner.f->backend_config = p->f->backend_config;
  inner.f->name = HloOpcodeName(wrapped);
  inner.has_shape = true;
  inner.opcode = wrapped;
  inner.offset = p->offset;
  inner.attributes_offset = p->attributes_offset;
  inner.seen = p->seen;
  inner.computations = std::move(p->computations);
  inner.condition = p->condition;
  p->f->dimensions = {};
  p->f->index = 0;
  if (p->attributes != nullptr) {
    // The opcode's own attributes go inside, those that every instruction may have to both.
    P* own = builder_->NewMessage<P>();
    P* all = p->attributes;
    all->clear_async_execution_thread();
    if (all->has_frontend_attributes())
      *own->mutable_frontend_attributes() = all->frontend_attributes();
    if (all->has_statistics_viz()) *own->mutable_statistics_viz() = all->statistics_viz();
    if (all->has_original_value()) *own->mutable_original_value() = all->original_value();
    if (all->has_sharding()) own->mutable_sharding()->Swap(all->mutable_sharding());
    all->clear_sharding();
    if (wrapped != HloOpcode::kFusion && wrapped != HloOpcode::kCustomCall) {
      own->mutable_output_operand_aliasing()->Swap(all->mutable_output_operand_aliasing());
    }
    inner.attributes = all;
    inner.f->attributes = all;
    p->attributes = own;
    p->f->attributes = own;
  }
  if (!FinishInstruction(&inner)) return false;
  inner.f->operands = builder_->Copy<const HloInstruction*>(inner.operands);
  inner.f->called_computations = builder_->Copy<const HloComputation*>(inner.computations);
  scopes_.back().instructions.push_back(inner.instruction);
  HloComputation* computation = builder_->NewComputation();
  builder_->Edit(computation).line = p->f->line;
  if (!FinishScope("async_wrapped", computation)) return false;
  p->computations = {computation};
  return true;
}

}  // namespace autotune
