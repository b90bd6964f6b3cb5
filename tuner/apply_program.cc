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
#include "hardware/scheduled_program.h"
#include "hlo/dot_convolution.h"
#include "hlo/fusion_apply.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_inline.h"
#include "hlo/tuning_site.h"

namespace autotune {
namespace {

// A tile on its way into the program.
struct Assignment {
  size_t entry;  // of the best configuration
  TileBounds bounds;
  std::string hero;                       // before optimisation; empty where kernels carry tiles
  std::vector<std::string> instructions;  // that carry it
};

bool IsDefault(const BestConfig::KernelEntry& entry) {
  return entry.default_config && *entry.default_config == *entry.config;
}

class Applier {
 public:
  Applier(const HloModule& program, const BestConfig& best, AotBackend* backend, ApplyForm form)
      : program_(program.ToProto()), best_(best), backend_(backend), form_(form) {}

  absl::StatusOr<AppliedProgram> Run() {
    if (absl::Status status = ApplyCuts(); !status.ok()) return status;
    absl::StatusOr<std::shared_ptr<const HloModule>> source = BuildSource({});
    if (!source.ok()) return source.status();
    result_.source = result_.program = *std::move(source);
    const std::vector<size_t> tiles = FindTiles();
    if (!tiles.empty()) {
      if (absl::Status status = ApplyTiles(tiles); !status.ok()) return status;
    }
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

  // The entries with a tile to write; says of the others what becomes of them.
  std::vector<size_t> FindTiles() {
    std::vector<size_t> tiles;
    for (size_t i = 0; i < best_.kernels.size(); ++i) {
      const BestConfig::KernelEntry& entry = best_.kernels[i];
      AppliedKernel& kernel = result_.kernels.emplace_back();
      kernel.kernel = entry.name;
      if (!entry.config) {
        kernel.outcome = ApplyOutcome::kDefault;
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
      } else if (IsDefault(entry) && !program_.has_schedule()) {
        kernel.outcome = ApplyOutcome::kDefault;
      } else if (backend_ == nullptr) {
        kernel.detail = "a tile takes the TPU compiler to be applied";
      } else {
        tiles.push_back(i);
      }
    }
    return tiles;
  }

  // Writes the tiles of these entries in the form that was asked for, or before optimisation where
  // nothing can be scheduled.
  absl::Status ApplyTiles(const std::vector<size_t>& tiles) {
    ++result_.compilations;
    absl::StatusOr<AotDefault> compiled = backend_->CompileProgram(*result_.source);
    if (!compiled.ok()) return compiled.status();
    const std::vector<size_t> known = FindInProgram(tiles, compiled->sites);
    if (form_ == ApplyForm::kScheduled && TakesTiles(*compiled->optimized)) {
      optimized_ = compiled->optimized;
      absl::StatusOr<bool> any = WriteObeyed(AssignToKernels(known, compiled->sites));
      if (!any.ok()) return any.status();
      if (*any || known.empty() || program_.has_schedule()) return absl::OkStatus();
      optimized_ = nullptr;
      for (size_t entry : known) result_.kernels[entry].detail.clear();
    }
    return WriteObeyed(AssignToHeroes(known, compiled->sites)).status();
  }

  // Of these entries, those whose kernel is in the compiled program with another tile.
  std::vector<size_t> FindInProgram(const std::vector<size_t>& tiles,
                                    const std::vector<TuningSite>& sites) {
    std::vector<size_t> known;
    for (size_t entry : tiles) {
      bool found = false;
      bool all_default = true;
      for (const TuningSite& site : sites) {
        if (site.fingerprint != best_.kernels[entry].fingerprint) continue;
        found = true;
        all_default &= site.choice.has_value() && site.choice->bounds == BoundsOf(entry);
      }
      if (!found) {
        Refuse(entry, absl::StrCat("the program compiled for ", backend_->device().name,
                                   " has no such kernel"));
      } else if (all_default) {
        result_.kernels[entry].outcome = ApplyOutcome::kDefault;
      } else {
        known.push_back(entry);
      }
    }
    return known;
  }

  std::vector<Assignment> AssignToKernels(const std::vector<size_t>& tiles,
                                          const std::vector<TuningSite>& sites) const {
    std::vector<Assignment> assignments;
    for (size_t entry : tiles) {
      Assignment& assignment = assignments.emplace_back(Assignment{entry, BoundsOf(entry), "", {}});
      for (const TuningSite& site : sites) {
        if (site.fingerprint == best_.kernels[entry].fingerprint) {
          assignment.instructions.push_back(site.kernel);
        }
      }
    }
    return assignments;
  }

  std::vector<Assignment> AssignToHeroes(const std::vector<size_t>& tiles,
                                         const std::vector<TuningSite>& sites) {
    std::vector<Assignment> assignments;
    for (size_t entry : tiles) {
      std::set<std::string> heroes;
      std::set<std::string> reasons;
      for (const TuningSite& site : sites) {
        if (site.fingerprint != best_.kernels[entry].fingerprint) continue;
        if (site.state == SiteState::kMapped) {
          heroes.insert(site.hero);
        } else {
          reasons.insert(
              absl::StrCat(site.kernel, " is ", SiteStateName(site.state), ": ", site.reason));
        }
      }
      if (!reasons.empty()) Refuse(entry, absl::StrJoin(reasons, "; "));
      for (const std::string& hero : heroes) {
        proto::HloModuleProto scratch = program_;
        const absl::Status status = MakeDotConvolution(hero, &scratch);
        if (status.ok() || absl::IsNotFound(status)) {
          assignments.push_back({entry, BoundsOf(entry), hero, {hero}});
        } else {
          Refuse(entry, std::string(status.message()));
        }
      }
    }
    return assignments;
  }

  // Makes the program with those of `wanted` that the compiler obeys. Returns whether it obeys any.
  absl::StatusOr<bool> WriteObeyed(const std::vector<Assignment>& wanted) {
    std::vector<Assignment> obeyed;
    if (absl::Status status = Keep(wanted, &obeyed); !status.ok()) return status;
    if (obeyed.empty()) return false;
    absl::StatusOr<std::shared_ptr<const HloModule>> tuned = Build(obeyed);
    if (!tuned.ok()) return tuned.status();
    result_.program = *std::move(tuned);
    result_.form = optimized_ != nullptr ? ApplyForm::kScheduled : ApplyForm::kSource;
    if (result_.form == ApplyForm::kSource) result_.source = result_.program;
    for (const Assignment& assignment : obeyed) {
      AppliedKernel& kernel = result_.kernels[assignment.entry];
      kernel.outcome = ApplyOutcome::kApplied;
      kernel.instructions.insert(kernel.instructions.end(), assignment.instructions.begin(),
                                 assignment.instructions.end());
      std::sort(kernel.instructions.begin(), kernel.instructions.end());
    }
    return true;
  }

  // The program with these tiles.
  absl::StatusOr<std::shared_ptr<const HloModule>> Build(
      const std::vector<Assignment>& assignments) const {
    if (optimized_ == nullptr) return BuildSource(assignments);
    absl::flat_hash_map<uint64_t, TileBounds> tiles;
    for (const Assignment& assignment : assignments) {
      tiles[best_.kernels[assignment.entry].fingerprint] = assignment.bounds;
    }
    absl::StatusOr<std::unique_ptr<HloModule>> built = WithTiles(*optimized_, tiles);
    if (!built.ok()) return built.status();
    return std::shared_ptr<const HloModule>(*std::move(built));
  }

  absl::StatusOr<std::shared_ptr<const HloModule>> BuildSource(
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
        Refuse(wanted.front().entry,
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
        Refuse(assignment.entry, wrong);
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

  // Empty if the kernels that the tile is for came out with it.
  std::string WhyNotObeyed(const Assignment& assignment,
                           const std::vector<TuningSite>& sites) const {
    const bool by_kernel = assignment.hero.empty();
    const std::string& where =
        by_kernel ? result_.kernels[assignment.entry].kernel : assignment.hero;
    bool found = false;
    for (const TuningSite& site : sites) {
      if (by_kernel ? site.fingerprint != best_.kernels[assignment.entry].fingerprint
                    : site.hero != assignment.hero) {
        continue;
      }
      found = true;
      if (site.choice.has_value() && site.choice->bounds == assignment.bounds) continue;
      return absl::StrCat("around ", where, " the compiler used ",
                          site.choice ? site.choice->bounds.Key() : "no tile");
    }
    return found ? "" : absl::StrCat("with it no kernel forms around ", where);
  }

  const TileBounds& BoundsOf(size_t entry) const { return *best_.kernels[entry].config->tile(); }

  void Refuse(size_t entry, const std::string& why) {
    std::string& detail = result_.kernels[entry].detail;
    absl::StrAppend(&detail, detail.empty() ? "" : "; ", why);
  }

  proto::HloModuleProto program_;  // before optimisation, with its cuts
  const BestConfig& best_;
  AotBackend* const backend_;
  const ApplyForm form_;
  // What the compiler made of it, while tiles are written there; else null.
  std::shared_ptr<const HloModule> optimized_;
  AppliedProgram result_;
};

}  // namespace

int64_t AppliedProgram::Count(ApplyOutcome outcome) const {
  return std::count_if(kernels.begin(), kernels.end(),
                       [&](const AppliedKernel& kernel) { return kernel.outcome == outcome; });
}

bool HasTilesToApply(const HloModule& program, const BestConfig& best) {
  return std::any_of(best.kernels.begin(), best.kernels.end(), [&program](const auto& entry) {
    return entry.config && entry.config->tile() != nullptr &&
           (program.is_scheduled() || !IsDefault(entry));
  });
}

bool HasCuts(const BestConfig& best) {
  return std::any_of(best.kernels.begin(), best.kernels.end(), [](const auto& entry) {
    return entry.config && entry.config->fusion() != nullptr &&
           !entry.config->fusion()->cuts.empty();
  });
}

absl::StatusOr<AppliedProgram> ApplyBest(const HloModule& program, const BestConfig& best,
                                         AotBackend* backend, ApplyForm form) {
  return Applier(program, best, backend, form).Run();
}

}  // namespace autotune
