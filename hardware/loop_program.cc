#include "hardware/loop_program.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hlo/next_free_id.h"
#include "hlo/opcode.h"

namespace autotune {
namespace {

using InstructionList = std::vector<proto::HloInstructionProto>;

// Writes instructions of one computation, with ids that no other instruction has.
class ComputationWriter {
 public:
  ComputationWriter(std::string name, int64_t id, int64_t* next_id)
      : next_id_(*next_id), prefix_(name) {
    computation_.set_name(std::move(name));
    computation_.set_id(id);
  }

  int64_t Add(HloOpcode opcode, const Shape& shape, std::initializer_list<int64_t> operands) {
    return Add(opcode, shape, std::vector<int64_t>(operands));
  }
  int64_t Add(HloOpcode opcode, const Shape& shape, const std::vector<int64_t>& operands) {
    proto::HloInstructionProto& instruction = *computation_.add_instructions();
    instruction.set_id(next_id_++);
    instruction.set_name(absl::StrCat(prefix_, ".", instruction.id()));
    instruction.set_opcode(std::string(HloOpcodeName(opcode)));
    shape.ToProto(instruction.mutable_shape());
    for (int64_t operand : operands) instruction.add_operand_ids(operand);
    shapes_[instruction.id()] = shape;
    return instruction.id();
  }
  int64_t Parameter(int64_t number, const Shape& shape) {
    const int64_t id = Add(HloOpcode::kParameter, shape, {});
    Last().set_parameter_number(number);
    *computation_.mutable_program_shape()->add_parameters() = Last().shape();
    computation_.mutable_program_shape()->add_parameter_names(Last().name());
    return id;
  }
  int64_t Element(int64_t tuple, int64_t index) {
    const Shape shape = shapes_.at(tuple).tuple_shapes(index);
    const int64_t id = Add(HloOpcode::kGetTupleElement, shape, {tuple});
    Last().set_tuple_index(index);
    return id;
  }
  int64_t Tuple(const std::vector<int64_t>& parts) {
    std::vector<Shape> shapes;
    shapes.reserve(parts.size());
    for (int64_t part : parts) shapes.push_back(shapes_.at(part));
    return Add(HloOpcode::kTuple, Shape::Tuple(std::move(shapes)), parts);
  }
  int64_t Integer(int32_t value) {
    const int64_t id = Add(HloOpcode::kConstant, Shape::ArrayWithDefaultLayout(proto::S32, {}), {});
    *Last().mutable_literal()->mutable_shape() = Last().shape();
    Last().mutable_literal()->add_s32s(value);
    return id;
  }
  // An instruction of another computation; its operands are named by `ids`.
  void Copy(const HloInstruction& source, const absl::flat_hash_map<int64_t, int64_t>& ids) {
    proto::HloInstructionProto& instruction = *computation_.add_instructions();
    source.ToProto(&instruction);
    for (auto* list :
         {instruction.mutable_operand_ids(), instruction.mutable_control_predecessor_ids()}) {
      for (int64_t& id : *list) {
        if (const auto known = ids.find(id); known != ids.end()) id = known->second;
      }
    }
    shapes_[instruction.id()] = source.shape();
  }

  proto::HloInstructionProto& Last() {
    return *computation_.mutable_instructions(computation_.instructions_size() - 1);
  }
  const Shape& ShapeOf(int64_t id) const { return shapes_.at(id); }
  proto::HloComputationProto Finish(int64_t root) {
    computation_.set_root_id(root);
    shapes_.at(root).ToProto(computation_.mutable_program_shape()->mutable_result());
    return std::move(computation_);
  }

 private:
  int64_t& next_id_;
  std::string prefix_;
  proto::HloComputationProto computation_;
  std::map<int64_t, Shape> shapes_;
};

bool CanTakePart(const Shape& shape) {
  return (IsFloating(shape.element_type()) || IsIntegral(shape.element_type())) &&
         BitWidth(shape.element_type()) >= 8 && shape.ElementsIn() > 0;
}

class LoopBuilder {
 public:
  LoopBuilder(const HloModule& program, LoopLink link) : program_(program), link_(link) {}

  absl::StatusOr<LoopProgram> Build() {
    if (absl::Status status = Collect(); !status.ok()) return status;
    LoopProgram loop;
    program_.ToProto(&loop.module);
    proto::HloModuleProto& module = loop.module;
    const int64_t entry = module.entry_computation_id();
    next_id_ = NextFreeId(module);
    auto& computations = *module.mutable_computations();
    const auto old = std::find_if(computations.begin(), computations.end(),
                                  [&](const auto& candidate) { return candidate.id() == entry; });
    computations.erase(old);
    const int64_t condition_id = next_id_++;
    const int64_t main_id = next_id_++;
    *module.add_computations() = Body(entry);
    *module.add_computations() = Condition(condition_id);
    *module.add_computations() = Main(main_id, entry, condition_id);
    FinishModule(&module, main_id);
    loop.results = results_;
    return loop;
  }

 private:
  absl::Status Collect() {
    std::vector<Shape> state = {Shape::ArrayWithDefaultLayout(proto::S32, {}),
                                Shape::ArrayWithDefaultLayout(proto::S32, {})};
    const HloComputation& entry = program_.entry_computation();
    for (const HloInstruction* parameter : entry.parameters()) {
      if (!parameter->shape().IsArray()) return Unfit("a parameter that is no array");
      operands_.push_back(parameter->shape());
    }
    const Shape& result = entry.root().shape();
    results_ = result.IsTuple() ? result.tuple_shapes() : std::vector<Shape>{result};
    for (const Shape& part : results_) {
      if (!part.IsArray()) return Unfit("a result that is no array");
    }
    if (results_.empty()) return Unfit("no result");
    state.insert(state.end(), operands_.begin(), operands_.end());
    state.insert(state.end(), results_.begin(), results_.end());
    if (link_ == LoopLink::kUpdate) {
      state.push_back(Shape::ArrayWithDefaultLayout(proto::PRED, {}));
      const auto source = std::find_if(results_.begin(), results_.end(), CanTakePart);
      if (source == results_.end()) return Unfit("no result that could link the trips");
      if (std::none_of(operands_.begin(), operands_.end(), CanTakePart)) {
        return Unfit("no operand that could link the trips");
      }
      source_ = source - results_.begin();
    }
    state_ = Shape::Tuple(std::move(state));
    return absl::OkStatus();
  }

  static absl::Status Unfit(absl::string_view what) {
    return absl::UnimplementedError(
        absl::StrCat("a program that cannot be timed in a loop: ", what));
  }

  // One trip: (i, n, operands, results[, flag]) to the same.
  proto::HloComputationProto Body(int64_t id) {
    ComputationWriter body("timed_body", id, &next_id_);
    const int64_t state = body.Parameter(0, state_);
    const int64_t step = body.Add(HloOpcode::kAdd, Shape::ArrayWithDefaultLayout(proto::S32, {}),
                                  {body.Element(state, 0), body.Integer(1)});
    std::vector<int64_t> values;  // operands, then results
    const auto count = static_cast<int64_t>(operands_.size() + results_.size());
    for (int64_t i = 0; i < count; ++i) values.push_back(body.Element(state, 2 + i));
    if (link_ == LoopLink::kBarrier) {
      const int64_t tuple = body.Tuple(values);
      const int64_t barrier = body.Add(HloOpcode::kOptBarrier, body.ShapeOf(tuple), {tuple});
      for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = body.Element(barrier, i);
    }
    absl::flat_hash_map<int64_t, int64_t> ids;
    const HloComputation& entry = program_.entry_computation();
    for (const HloInstruction* instruction : entry.instructions()) {
      if (instruction->opcode() == HloOpcode::kParameter) {
        ids[instruction->id()] = values[static_cast<size_t>(instruction->parameter_number())];
      } else {
        body.Copy(*instruction, ids);
      }
    }
    const auto known = ids.find(entry.root().id());
    const int64_t root = known != ids.end() ? known->second : entry.root().id();
    std::vector<int64_t> results = {root};
    if (entry.root().shape().IsTuple()) {
      for (size_t i = 0; i < results_.size(); ++i) {
        if (i == 0) results.clear();
        results.push_back(body.Element(root, static_cast<int64_t>(i)));
      }
    }
    std::vector<int64_t> next = {step, body.Element(state, 1)};
    for (size_t i = 0; i < operands_.size(); ++i) {
      next.push_back(link_ == LoopLink::kUpdate && CanTakePart(operands_[i])
                         ? Update(&body, values[i], results[static_cast<size_t>(source_)],
                                  body.Element(state, 2 + count))
                         : values[i]);
    }
    next.insert(next.end(), results.begin(), results.end());
    if (link_ == LoopLink::kUpdate) next.push_back(body.Element(state, 2 + count));
    const int64_t tuple = body.Tuple(next);
    return body.Finish(tuple);
  }

  // The first element of an array as a scalar.
  static int64_t First(ComputationWriter* body, int64_t array) {
    const Shape& shape = body->ShapeOf(array);
    if (shape.rank() == 0) return array;
    const int64_t slice = body->Add(HloOpcode::kSlice, Ones(shape), {array});
    for (int64_t i = 0; i < shape.rank(); ++i) {
      auto& dimension = *body->Last().add_slice_dimensions();
      dimension.set_start(0);
      dimension.set_limit(1);
      dimension.set_stride(1);
    }
    return body->Add(HloOpcode::kReshape, Shape::ArrayWithDefaultLayout(shape.element_type(), {}),
                     {slice});
  }

  // The shape with every extent 1, in the same order.
  static Shape Ones(Shape shape) {
    for (int64_t i = 0; i < shape.rank(); ++i) shape.set_dimension(i, 1);
    return shape;
  }

  // `operand` with its first element chosen again: the flag is false, so that it stays.
  static int64_t Update(ComputationWriter* body, int64_t operand, int64_t result, int64_t flag) {
    const Shape shape = body->ShapeOf(operand);
    const Shape scalar = Shape::ArrayWithDefaultLayout(shape.element_type(), {});
    const int64_t other = body->Add(HloOpcode::kConvert, scalar, {First(body, result)});
    const int64_t chosen =
        body->Add(HloOpcode::kSelect, scalar, {flag, other, First(body, operand)});
    if (shape.rank() == 0) return chosen;
    const int64_t update = body->Add(HloOpcode::kReshape, Ones(shape), {chosen});
    std::vector<int64_t> parts = {operand, update};
    const int64_t zero = body->Integer(0);
    parts.insert(parts.end(), static_cast<size_t>(shape.rank()), zero);
    return body->Add(HloOpcode::kDynamicUpdateSlice, shape, parts);
  }

  proto::HloComputationProto Condition(int64_t id) {
    ComputationWriter condition("timed_condition", id, &next_id_);
    const int64_t state = condition.Parameter(0, state_);
    const int64_t less =
        condition.Add(HloOpcode::kCompare, Shape::ArrayWithDefaultLayout(proto::PRED, {}),
                      {condition.Element(state, 0), condition.Element(state, 1)});
    condition.Last().set_comparison_direction("LT");
    return condition.Finish(less);
  }

  proto::HloComputationProto Main(int64_t id, int64_t body, int64_t condition) {
    ComputationWriter main("timed_main", id, &next_id_);
    std::vector<int64_t> state = {main.Integer(0)};
    std::vector<int64_t> arrays;
    for (const auto* shapes : {&operands_, &results_}) {
      for (const Shape& shape : *shapes) {
        arrays.push_back(main.Parameter(static_cast<int64_t>(arrays.size()), shape));
      }
    }
    auto number = static_cast<int64_t>(arrays.size());
    state.push_back(main.Parameter(number++, Shape::ArrayWithDefaultLayout(proto::S32, {})));
    state.insert(state.end(), arrays.begin(), arrays.end());
    if (link_ == LoopLink::kUpdate) {
      state.push_back(main.Parameter(number, Shape::ArrayWithDefaultLayout(proto::PRED, {})));
    }
    const int64_t initial = main.Tuple(state);
    const int64_t loop = main.Add(HloOpcode::kWhile, state_, {initial});
    main.Last().add_called_computation_ids(body);
    main.Last().add_called_computation_ids(condition);
    std::vector<int64_t> results;
    for (size_t i = 0; i < results_.size(); ++i) {
      results.push_back(main.Element(loop, static_cast<int64_t>(2 + operands_.size() + i)));
    }
    const bool tuple = program_.entry_computation().root().shape().IsTuple();
    const int64_t root = tuple ? main.Tuple(results) : results.front();
    return main.Finish(root);
  }

  void FinishModule(proto::HloModuleProto* module, int64_t main) const {
    const proto::HloComputationProto& entry = module->computations(module->computations_size() - 1);
    module->set_entry_computation_id(main);
    module->set_entry_computation_name(entry.name());
    *module->mutable_host_program_shape() = entry.program_shape();
    module->clear_input_output_alias();
    module->clear_buffer_donor();
    module->clear_cross_program_prefetches();
    module->clear_spmd_parameters_shardings();
    module->clear_spmd_output_sharding();
    if (!module->has_schedule()) return;
    auto& sequences = *module->mutable_schedule()->mutable_sequences();
    for (int i = module->computations_size() - 3; i < module->computations_size(); ++i) {
      auto& sequence = sequences[module->computations(i).id()];
      sequence.clear_instruction_ids();
      for (const auto& instruction : module->computations(i).instructions()) {
        sequence.add_instruction_ids(instruction.id());
      }
    }
  }

  const HloModule& program_;
  const LoopLink link_;
  std::vector<Shape> operands_;
  std::vector<Shape> results_;
  Shape state_;
  int64_t source_ = 0;  // the result that links the trips
  int64_t next_id_ = 1;
};

// What a computation computes, callees included: elements made by each opcode.
class Work {
 public:
  explicit Work(const HloComputation& computation) { Add(computation); }

  double total() const { return total_; }
  const std::map<std::string, double>& heavy() const { return heavy_; }

 private:
  static bool IsFree(HloOpcode opcode) {
    switch (opcode) {
      case HloOpcode::kParameter:
      case HloOpcode::kConstant:
      case HloOpcode::kTuple:
      case HloOpcode::kGetTupleElement:
      case HloOpcode::kBitcast:
      case HloOpcode::kOptBarrier:
      case HloOpcode::kCopy:
      case HloOpcode::kBroadcast:
      case HloOpcode::kIota:
      case HloOpcode::kFusion:
      case HloOpcode::kCall:
      case HloOpcode::kWhile:
        return true;
      default:
        return false;
    }
  }
  static bool IsHeavy(HloOpcode opcode) {
    switch (opcode) {
      case HloOpcode::kDot:
      case HloOpcode::kConvolution:
      case HloOpcode::kReduce:
      case HloOpcode::kReduceWindow:
      case HloOpcode::kSort:
      case HloOpcode::kScatter:
      case HloOpcode::kGather:
      case HloOpcode::kFft:
      case HloOpcode::kCustomCall:
        return true;
      default:
        return false;
    }
  }

  void Add(const HloComputation& computation) {
    for (const HloInstruction* instruction : computation.instructions()) {
      if (!IsFree(instruction->opcode())) {
        double elements = 0;
        const Shape& shape = instruction->shape();
        if (shape.IsTuple()) {
          for (const Shape& part : shape.tuple_shapes()) {
            elements += static_cast<double>(part.ElementsIn());
          }
        } else {
          elements = static_cast<double>(shape.ElementsIn());
        }
        total_ += elements;
        if (IsHeavy(instruction->opcode())) {
          heavy_[std::string(instruction->opcode_name())] += elements;
        }
      }
      for (const HloComputation* callee : instruction->called_computations()) Add(*callee);
    }
  }

  double total_ = 0;
  std::map<std::string, double> heavy_;
};

// The body of the loop that the entry computation runs: of several, the one that does most.
const HloComputation* TimedBody(const HloModule& loop) {
  const HloComputation* best = nullptr;
  double most = -1;
  for (const HloInstruction* instruction : loop.entry_computation().instructions()) {
    if (instruction->opcode() != HloOpcode::kWhile) continue;
    const HloComputation* body = instruction->called_computations().front();
    if (const double total = Work(*body).total(); total > most) {
      most = total;
      best = body;
    }
  }
  return best;
}

}  // namespace

absl::string_view LoopLinkName(LoopLink link) {
  return link == LoopLink::kBarrier ? "device loop, barrier" : "device loop, update";
}

absl::StatusOr<LoopProgram> MakeLoopProgram(const HloModule& program, LoopLink link) {
  return LoopBuilder(program, link).Build();
}

absl::Status CheckLoopBody(const HloModule& alone, const HloModule& loop) {
  const HloComputation* body = TimedBody(loop);
  if (body == nullptr) return absl::FailedPreconditionError("the compiled program has no loop");
  const Work wanted(alone.entry_computation());
  const Work got(*body);
  for (const auto& [opcode, elements] : wanted.heavy()) {
    const auto found = got.heavy().find(opcode);
    if (found == got.heavy().end() || found->second < elements) {
      return absl::FailedPreconditionError(
          absl::StrCat("the compiler moved a ", opcode, " out of the timing loop"));
    }
  }
  // The same operations fuse a little differently in a loop.
  if (got.total() >= 0.8 * wanted.total()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the compiler moved work out of the timing loop: its body makes ", got.total(),
                   " elements instead of ", wanted.total()));
}

}  // namespace autotune
