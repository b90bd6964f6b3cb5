#include "hlo/tuning_site.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/kernel_choice.h"
#include "hlo/kernel_hash.h"
#include "hlo/opcode.h"
#include "hlo/tile_hero.h"

namespace autotune {
namespace {

constexpr absl::string_view kStamp = ";site=";

// The numbers of the marks in a name: the compiler may join the names of operations.
std::vector<int64_t> ReadStamps(absl::string_view name) {
  std::vector<int64_t> numbers;
  for (size_t at = name.find(kStamp); at != absl::string_view::npos; at = name.find(kStamp)) {
    name.remove_prefix(at + kStamp.size());
    int64_t number = 0;
    const size_t end = std::min(name.find_first_not_of("0123456789"), name.size());
    if (absl::SimpleAtoi(name.substr(0, end), &number)) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// An operation and everything that is fused into it.
void Collect(const HloInstruction& operation, std::vector<const HloInstruction*>* instructions) {
  if (operation.opcode() == HloOpcode::kFusion) {
    for (const HloComputation* body : operation.called_computations()) {
      for (const HloInstruction* inner : body->instructions()) Collect(*inner, instructions);
    }
  }
  instructions->push_back(&operation);
}

// The classes of operations that can stand for each other before and after optimisation.
enum class Class { kContraction, kReduce, kReduceWindow, kOther };

Class ClassOf(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kDot:
    case HloOpcode::kConvolution:
      return Class::kContraction;
    case HloOpcode::kReduce:
      return Class::kReduce;
    case HloOpcode::kReduceWindow:
      return Class::kReduceWindow;
    default:
      return Class::kOther;
  }
}

class SiteFinder {
 public:
  SiteFinder(const HloModule& program, const HloModule& optimized)
      : optimized_(optimized), hasher_(optimized) {
    for (const HloComputation* computation : program.computations()) {
      // The order of HloModule::ToProto.
      for (const HloInstruction* instruction : computation->PostOrder()) {
        sources_.push_back(instruction);
      }
    }
  }

  std::vector<TuningSite> Find() {
    std::vector<TuningSite> sites;
    for (const HloComputation* computation : optimized_.computations()) {
      if (computation->IsFusionComputation()) continue;
      for (const HloInstruction* instruction : computation->instructions()) {
        const std::optional<CompilerChoice> choice =
            ParseCompilerChoice(instruction->backend_config());
        if (!choice.has_value()) continue;
        TuningSite site;
        site.kernel = std::string(instruction->name());
        site.fingerprint = hasher_.Operation(*instruction);
        site.choice = choice;
        Map(*instruction, &site);
        sites.push_back(std::move(site));
      }
    }
    MarkShared(&sites);
    return sites;
  }

 private:
  // Sources whose class is that of `hero`, among those that the marks of `name` give.
  std::vector<const HloInstruction*> Sources(absl::string_view name, Class wanted) const {
    std::vector<const HloInstruction*> sources;
    for (int64_t number : ReadStamps(name)) {
      if (number < 0 || number >= static_cast<int64_t>(sources_.size())) continue;
      const HloInstruction* source = sources_[static_cast<size_t>(number)];
      if (ClassOf(source->opcode()) == wanted) sources.push_back(source);
    }
    return sources;
  }

  void Map(const HloInstruction& operation, TuningSite* site) const {
    std::vector<const HloInstruction*> instructions;
    Collect(operation, &instructions);
    const absl::StatusOr<TileHero> hero = FindTileHero(operation, instructions);
    if (!hero.ok()) {
      site->reason = std::string(hero.status().message());
      return;
    }
    const Class wanted = ClassOf(hero->instruction->opcode());
    std::vector<const HloInstruction*> sources =
        Sources(hero->instruction->metadata().op_name, wanted);
    // Rewritten heroes may lose their mark while the kernel as a whole keeps it.
    if (sources.empty()) sources = Sources(operation.metadata().op_name, wanted);
    if (sources.empty()) {
      site->reason = absl::StrCat("the compiler made its ", hero->instruction->opcode_name(), " ",
                                  hero->instruction->name());
      return;
    }
    if (sources.size() > 1) {
      site->state = SiteState::kAmbiguous;
      site->reason = absl::StrCat(
          "it may stem from ",
          absl::StrJoin(sources, ", ", [](std::string* out, const HloInstruction* source) {
            absl::StrAppend(out, source->name());
          }));
      return;
    }
    site->state = SiteState::kMapped;
    site->hero = std::string(sources.front()->name());
  }

  // An instruction that became the hero of different kernels cannot hold the bounds of each.
  static void MarkShared(std::vector<TuningSite>* sites) {
    absl::flat_hash_map<std::string, uint64_t> first;
    absl::flat_hash_map<std::string, bool> shared;
    for (const TuningSite& site : *sites) {
      if (site.state != SiteState::kMapped) continue;
      const auto [known, is_new] = first.emplace(site.hero, site.fingerprint);
      if (!is_new && known->second != site.fingerprint) shared[site.hero] = true;
    }
    for (TuningSite& site : *sites) {
      if (site.state != SiteState::kMapped || !shared.contains(site.hero)) continue;
      site.state = SiteState::kAmbiguous;
      site.reason = absl::StrCat("other kernels were made around ", site.hero, " too");
      site.hero.clear();
    }
  }

  const HloModule& optimized_;
  const KernelHasher hasher_;
  std::vector<const HloInstruction*> sources_;  // by the number of their mark
};

}  // namespace

absl::string_view SiteStateName(SiteState state) {
  switch (state) {
    case SiteState::kMapped:
      return "mapped";
    case SiteState::kAmbiguous:
      return "ambiguous";
    case SiteState::kLost:
      break;
  }
  return "lost";
}

void StampInstructions(proto::HloModuleProto* program) {
  int64_t number = 0;
  for (proto::HloComputationProto& computation : *program->mutable_computations()) {
    for (proto::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      std::string* name = instruction.mutable_metadata()->mutable_op_name();
      absl::StrAppend(name, kStamp, number++, ";");
    }
  }
}

void RemoveStamps(proto::HloModuleProto* program) {
  for (proto::HloComputationProto& computation : *program->mutable_computations()) {
    for (proto::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      if (!instruction.has_metadata()) continue;
      std::string& name = *instruction.mutable_metadata()->mutable_op_name();
      for (size_t at = name.find(kStamp.data(), 0, kStamp.size()); at != std::string::npos;
           at = name.find(kStamp.data(), at, kStamp.size())) {
        const size_t digits = at + kStamp.size();
        size_t end = std::min(name.find_first_not_of("0123456789", digits), name.size());
        if (end < name.size() && name[end] == ';') ++end;
        name.erase(at, end - at);
      }
    }
  }
}

std::vector<TuningSite> FindTuningSites(const HloModule& program, const HloModule& optimized) {
  return SiteFinder(program, optimized).Find();
}

}  // namespace autotune
