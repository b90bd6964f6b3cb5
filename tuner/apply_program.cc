#include "tuner/apply_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/aot_program.h"
#include "hlo/dot_convolution.h"
#include "hlo/fusion_apply.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_inline.h"
#include "hlo/tuning_site.h"

namespace autotune {
namespace {

// A tile on its way to an instruction.
struct Assignment {
  std::string hero;
  TileBounds bounds;
  size_t entry;  // of the best configuration
};

class Applier {
 public:
  Applier(const HloModule& program, const BestConfig& best, AotBackend* backend)
      : program_(program.ToProto()), best_(best), backend_(backend) {}

  absl::StatusOr<AppliedProgram> Run() {
    if (absl::Status status = ApplyCuts(); !status.ok()) return status;
    absl::StatusOr<std::shared_ptr<const HloModule>> base = Build({});
    if (!base.ok()) return base.status();
    std::vector<TuningSite> sites;
    if (backend_ != nullptr) {
      ++result_.compilations;
      absl::StatusOr<AotDefault> compiled = backend_->CompileProgram(**base);
      if (!compiled.ok()) return compiled.status();
      sites = std::move(compiled->sites);
    }
    const std::vector<Assignment> wanted = Plan(sites);
    std::vector<Assignment> obeyed;
    if (absl::Status status = Keep(wanted, &obeyed); !status.ok()) return status;
    absl::StatusOr<std::shared_ptr<const HloModule>> tuned = Build(obeyed);
    if (!tuned.ok()) return tuned.status();
    result_.program = *std::move(tuned);
    Conclude(obeyed);
    return std::move(result_);
  }

 private:
  // The cuts of the whole program, which change its kernels and so come first.
  absl::Status ApplyCuts() {
    for (const BestConfig::KernelEntry& entry : best_.kernels) {
      const FusionDecision* decision = entry.config ? entry.config->fusion() : nullptr;
      if (decision == nullptr || decision->cuts.empty()) continue;
      absl::StatusOr<std::unique_ptr<HloModule>> whole = HloModule::FromProto(program_);
      if (!whole.ok()) return whole.status();
      // Cuts count the edges of the program with its calls in place.
      absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(**whole);
      if (!graph.ok()) return graph.status();
      absl::StatusOr<std::unique_ptr<HloModule>> cut = ApplyFusion(*graph, *decision);
      if (!cut.ok()) return cut.status();
      program_ = (*cut)->ToProto();
      result_.cuts += static_cast<int64_t>(decision->cuts.size());
    }
    return absl::OkStatus();
  }

  // The program with these tiles.
  absl::StatusOr<std::shared_ptr<const HloModule>> Build(
      const std::vector<Assignment>& assignments) const {
    absl::flat_hash_map<std::string, const TileBounds*> bounds;
    for (const Assignment& assignment : assignments) {
      bounds[assignment.hero] = &assignment.bounds;
    }
    proto::HloModuleProto module = program_;
    for (const Assignment& assignment : assignments) {
      // A dot would not hold a tile. Not found: it is none.
      (void)MakeDotConvolution(assignment.hero, &module);
    }
    for (proto::HloComputationProto& computation : *module.mutable_computations()) {
      for (proto::HloInstructionProto& instruction : *computation.mutable_instructions()) {
        const auto found = bounds.find(instruction.name());
        if (found == bounds.end()) continue;
        instruction.set_backend_config(
            WithWindowConfig(instruction.backend_config(), *found->second));
      }
    }
    absl::StatusOr<std::unique_ptr<HloModule>> built = HloModule::FromProto(module);
    if (!built.ok()) return built.status();
    return std::shared_ptr<const HloModule>(*std::move(built));
  }

  // Where each tile has to go, from the sites of the default compilation.
  std::vector<Assignment> Plan(const std::vector<TuningSite>& sites) {
    std::vector<Assignment> assignments;
    for (size_t i = 0; i < best_.kernels.size(); ++i) {
      const BestConfig::KernelEntry& entry = best_.kernels[i];
      AppliedKernel& kernel = result_.kernels.emplace_back();
      kernel.kernel = entry.name;
      if (!entry.config) {
        kernel.detail = "nothing of it was measured";
        continue;
      }
      kernel.config = entry.config->Key();
      if (const FusionDecision* decision = entry.config->fusion()) {
        kernel.outcome = decision->cuts.empty() ? ApplyOutcome::kDefault : ApplyOutcome::kApplied;
        continue;
      }
      const TileBounds* bounds = entry.config->tile();
      if (bounds == nullptr || bounds->IsEmpty()) {
        kernel.detail = "its configuration has no content that could be written";
        continue;
      }
      if (entry.default_config && *entry.default_config == *entry.config) {
        kernel.outcome = ApplyOutcome::kDefault;
        continue;
      }
      PlanKernel(sites, i, *bounds, &kernel, &assignments);
    }
    return assignments;
  }

  void PlanKernel(const std::vector<TuningSite>& sites, size_t entry, const TileBounds& bounds,
                  AppliedKernel* kernel, std::vector<Assignment>* assignments) {
    std::set<std::string> heroes;
    std::set<std::string> reasons;
    bool found = false;
    bool all_default = true;
    for (const TuningSite& site : sites) {
      if (site.fingerprint != best_.kernels[entry].fingerprint) continue;
      found = true;
      all_default &= site.choice.has_value() && site.choice->bounds == bounds;
      if (site.state == SiteState::kMapped) {
        heroes.insert(site.hero);
      } else {
        reasons.insert(
            absl::StrCat(site.kernel, " is ", SiteStateName(site.state), ": ", site.reason));
      }
    }
    if (backend_ == nullptr) {
      kernel->detail = "a tile takes the TPU compiler to be applied";
    } else if (!found) {
      kernel->detail =
          absl::StrCat("the program compiled for ", backend_->device().name, " has no such kernel");
    } else if (all_default) {
      kernel->outcome = ApplyOutcome::kDefault;
      return;
    } else {
      kernel->detail = absl::StrJoin(reasons, "; ");
    }
    for (const std::string& hero : heroes) {
      proto::HloModuleProto scratch = program_;
      const absl::Status status = MakeDotConvolution(hero, &scratch);
      if (status.ok() || absl::IsNotFound(status)) {
        assignments->push_back({hero, bounds, entry});
      } else {
        Refuse({hero, bounds, entry}, std::string(status.message()));
      }
    }
  }

  // Appends those of `wanted` that the compiler obeys when they stand in the program together with
  // what *obeyed holds.
  absl::Status Keep(const std::vector<Assignment>& wanted, std::vector<Assignment>* obeyed) {
    if (wanted.empty()) return absl::OkStatus();
    std::vector<Assignment> tried = *obeyed;
    tried.insert(tried.end(), wanted.begin(), wanted.end());
    absl::StatusOr<std::shared_ptr<const HloModule>> module = Build(tried);
    if (!module.ok()) return module.status();
    ++result_.compilations;
    absl::StatusOr<AotDefault> compiled = backend_->CompileProgram(**module);
    if (!compiled.ok()) {
      if (wanted.size() == 1) {
        Refuse(wanted.front(),
               absl::StrCat("the compiler refuses it: ", std::string(compiled.status().message())));
        return absl::OkStatus();
      }
      const auto middle = wanted.begin() + static_cast<std::ptrdiff_t>(wanted.size() / 2);
      absl::Status status = Keep({wanted.begin(), middle}, obeyed);
      return status.ok() ? Keep({middle, wanted.end()}, obeyed) : status;
    }
    std::vector<Assignment> kept;
    for (const Assignment& assignment : tried) {
      const std::string wrong = WhyNotObeyed(assignment, compiled->sites);
      if (wrong.empty()) {
        kept.push_back(assignment);
      } else {
        Refuse(assignment, wrong);
      }
    }
    if (kept.size() == tried.size()) {
      *obeyed = std::move(kept);
      return absl::OkStatus();
    }
    // Without the others the rest may come out in another way: it is compiled again.
    obeyed->clear();
    return Keep(kept, obeyed);
  }

  // Empty if the kernel around the instruction came out with the bounds.
  static std::string WhyNotObeyed(const Assignment& assignment,
                                  const std::vector<TuningSite>& sites) {
    bool found = false;
    for (const TuningSite& site : sites) {
      if (site.hero != assignment.hero) continue;
      found = true;
      if (site.choice.has_value() && site.choice->bounds == assignment.bounds) continue;
      return absl::StrCat("around ", assignment.hero, " the compiler used ",
                          site.choice ? site.choice->bounds.Key() : "no tile");
    }
    return found ? "" : absl::StrCat("with it no kernel forms around ", assignment.hero);
  }

  void Refuse(const Assignment& assignment, const std::string& why) {
    std::string& detail = result_.kernels[assignment.entry].detail;
    absl::StrAppend(&detail, detail.empty() ? "" : "; ", why);
  }

  void Conclude(const std::vector<Assignment>& obeyed) {
    for (const Assignment& assignment : obeyed) {
      AppliedKernel& kernel = result_.kernels[assignment.entry];
      kernel.outcome = ApplyOutcome::kApplied;
      kernel.heroes.push_back(assignment.hero);
    }
    for (AppliedKernel& kernel : result_.kernels) {
      std::sort(kernel.heroes.begin(), kernel.heroes.end());
    }
  }

  proto::HloModuleProto program_;
  const BestConfig& best_;
  AotBackend* const backend_;
  AppliedProgram result_;
};

}  // namespace

int64_t AppliedProgram::Count(ApplyOutcome outcome) const {
  return std::count_if(kernels.begin(), kernels.end(),
                       [&](const AppliedKernel& kernel) { return kernel.outcome == outcome; });
}

bool HasTilesToApply(const BestConfig& best) {
  return std::any_of(best.kernels.begin(), best.kernels.end(), [](const auto& entry) {
    return entry.config && entry.config->tile() != nullptr &&
           !(entry.default_config && *entry.default_config == *entry.config);
  });
}

absl::StatusOr<AppliedProgram> ApplyBest(const HloModule& program, const BestConfig& best,
                                         AotBackend* backend) {
  return Applier(program, best, backend).Run();
}

}  // namespace autotune
