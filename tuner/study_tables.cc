// Map of this file: the plan of a study (splits, variants, rows); running it, split after split;
// the document.

#include "tuner/study_tables.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "costmodel/evaluation.h"
#include "costmodel/features.h"
#include "costmodel/model_study.h"
#include "costmodel/network_json.h"
#include "costmodel/npz_examples.h"
#include "costmodel/recorded_examples.h"
#include "hardware/measurement.h"
#include "hardware/recording.h"
#include "tuner/printable.h"

namespace autotune {
namespace {

// A split, and the seed that drew it and that its networks start from.
struct PlannedSplit {
  StudySplit split;
  uint64_t seed = 1;
};

struct Variant {
  std::string name;
  TrainerOptions trainer;
};

// A row of the table: one variant, judged on several splits together for each seed.
struct Row {
  std::string name;
  size_t variant = 0;
  std::vector<size_t> splits;
};

struct Plan {
  std::vector<PlannedSplit> splits;
  std::vector<Variant> variants;
  std::vector<Row> rows;
};

std::vector<std::string> ProgramsOf(const std::vector<std::string>& files) {
  std::set<std::string> programs;
  for (const std::string& file : files) programs.insert(ProgramOfFile(file));
  return {programs.begin(), programs.end()};
}

std::string FamilyOf(const std::string& program, const ProgramFamilies& families) {
  for (const auto& [family, programs] : families) {
    if (std::find(programs.begin(), programs.end(), program) != programs.end()) return family;
  }
  return "others";
}

absl::StatusOr<std::set<std::string>> DevicesOf(const std::vector<std::string>& files) {
  std::set<std::string> devices;
  for (const std::string& file : files) {
    absl::StatusOr<Recording> recording = Recording::Load(file);
    if (!recording.ok()) return recording.status();
    devices.insert(recording->origin().device);
  }
  return devices;
}

// What each part of the method is changed to: as `--config` takes it.
struct Change {
  const char* name;
  const char* json;
};
constexpr Change kChanges[] = {
    {"static features off", R"({"network": {"static_features": "off"}})"},
    {"static features at nodes", R"({"network": {"static_features": "node"}})"},
    {"edges directed", R"({"network": {"direction": "directed"}})"},
    {"edges undirected", R"({"network": {"direction": "undirected"}})"},
    {"graph attention", R"({"network": {"layer": "gat"}})"},
    {"no graph layers", R"({"network": {"layer": "none"}})"},
    {"reduction per node", R"({"network": {"reduction": "per-node"}})"},
    {"reduction LSTM", R"({"network": {"reduction": "lstm"}})"},
    {"reduction Transformer", R"({"network": {"reduction": "transformer"}})"},
    {"hinge loss", R"({"step": {"loss": "hinge"}})"},
    {"ListMLE", R"({"step": {"loss": "listmle"}})"},
    {"squared error", R"({"step": {"loss": "squared-error"}})"},
    {"early join", R"({"network": {"join": "early"}})"},
    {"attention across configurations", R"({"network": {"config_attention": true}})"},
    {"one member", R"({"network": {"members": 1}})"},
};

class Planner {
 public:
  explicit Planner(const StudyOptions& options)
      : options_(options), programs_(ProgramsOf(options.files)) {}

  absl::StatusOr<Plan> Make() {
    plan_.variants.push_back({"as shipped", options_.trainer});
    switch (options_.kind) {
      case StudyKind::kRandom:
        AddRow("held-out programs", 0, RandomSplits("", "", 1));
        break;
      case StudyKind::kUnseen:
        AddFamilies();
        break;
      case StudyKind::kTransfer:
        if (absl::Status status = AddTransfers(); !status.ok()) return status;
        break;
      case StudyKind::kCurve:
        AddCurve();
        break;
      case StudyKind::kAblation:
        if (absl::Status status = AddChanges(); !status.ok()) return status;
        break;
    }
    return std::move(plan_);
  }

 private:
  void AddRow(const std::string& name, size_t variant, std::vector<size_t> splits) {
    plan_.rows.push_back({name, variant, std::move(splits)});
  }

  size_t AddSplit(StudySplit split, uint64_t seed) {
    plan_.splits.push_back({std::move(split), seed});
    return plan_.splits.size() - 1;
  }

  std::vector<size_t> RandomSplits(const std::string& from, const std::string& to, double share) {
    std::vector<size_t> splits;
    for (int64_t seed = 1; seed <= options_.seeds; ++seed) {
      StudySplit split;
      split.name = absl::StrCat("seed ", seed);
      split.programs = SplitPrograms(programs_, {}, options_.validation_share, options_.test_share,
                                     static_cast<uint64_t>(seed));
      split.training_device = from;
      split.test_device = to;
      split.training_share = share;
      splits.push_back(AddSplit(std::move(split), static_cast<uint64_t>(seed)));
    }
    return splits;
  }

  // By configurations of all kernels where numbers are given, else by kernels.
  void AddCurve() {
    for (const int64_t configs : options_.curve_configs) {
      const std::vector<size_t> splits = RandomSplits("", "", 1);
      for (const size_t split : splits) plan_.splits[split].split.training_configs = configs;
      AddRow(absl::StrCat(configs, " configurations"), 0, splits);
    }
    if (!options_.curve_configs.empty()) {
      AddRow("all configurations", 0, RandomSplits("", "", 1));
      return;
    }
    for (const double share : {0.25, 0.5, 1.0}) {
      AddRow(absl::StrFormat("%.0f %% of the kernels", 100 * share), 0,
             RandomSplits("", "", share));
    }
  }

  void AddFamilies() {
    std::map<std::string, absl::flat_hash_set<std::string>> families;
    for (const std::string& program : programs_) {
      families[FamilyOf(program, options_.families)].insert(program);
    }
    std::vector<size_t> all;
    for (const auto& [family, members] : families) {
      std::vector<size_t> splits;
      for (int64_t seed = 1; seed <= options_.seeds; ++seed) {
        StudySplit split;
        split.name = absl::StrCat(family, ", seed ", seed);
        split.programs = SplitPrograms(programs_, members, options_.validation_share, 0,
                                       static_cast<uint64_t>(seed));
        splits.push_back(AddSplit(std::move(split), static_cast<uint64_t>(seed)));
      }
      all.insert(all.end(), splits.begin(), splits.end());
      AddRow(family, 0, std::move(splits));
    }
    AddRow("all families", 0, std::move(all));
  }

  absl::Status AddTransfers() {
    absl::StatusOr<std::set<std::string>> devices = DevicesOf(options_.files);
    if (!devices.ok()) return devices.status();
    if (devices->size() < 2) {
      return absl::InvalidArgumentError("transfer needs recordings of at least two devices");
    }
    for (const std::string& from : *devices) {
      for (const std::string& to : *devices) {
        AddRow(absl::StrCat(from, " to ", to), 0, RandomSplits(from, to, 1));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddChanges() {
    const std::vector<size_t> splits = RandomSplits("", "", 1);
    AddRow(plan_.variants[0].name, 0, splits);
    for (const Change& change : kChanges) {
      Variant variant{change.name, options_.trainer};
      absl::Status status = UpdateFromJson(nlohmann::json::parse(change.json), &variant.trainer);
      if (!status.ok()) return status;
      plan_.variants.push_back(std::move(variant));
      AddRow(change.name, plan_.variants.size() - 1, splits);
    }
    return absl::OkStatus();
  }

  const StudyOptions& options_;
  const std::vector<std::string> programs_;
  Plan plan_;
};

absl::Status Export(const StudyData& data, const std::string& folder) {
  for (const auto& [side, store] :
       {std::pair("training", &data.training()), std::pair("validation", &data.validation()),
        std::pair("test", &data.test())}) {
    const std::string directory = absl::StrCat(folder, "/", side);
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return absl::UnavailableError(absl::StrCat(directory, ": ", error.message()));
    for (int64_t i = 0; i < store->size(); ++i) {
      auto example = store->Read(i);
      if (!example.ok()) return example.status();
      const std::string path = absl::StrCat(directory, "/", (*example)->program, ".", i, ".npz");
      if (absl::Status status = WriteNpzExample(**example, path); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

using ScoresBySplit = std::map<std::pair<size_t, size_t>, StudyScores>;  // split, variant

absl::Status RunSplit(const StudyOptions& options, const Plan& plan, size_t split,
                      ScoresBySplit* scores) {
  const PlannedSplit& planned = plan.splits[split];
  absl::StatusOr<std::unique_ptr<StudyData>> data =
      StudyData::Create(options.files, planned.split, options.scratch, options.memory_bytes);
  if (!data.ok()) return data.status();
  if (!options.export_to.empty()) {
    absl::Status status = Export(**data, absl::StrCat(options.export_to, "/", split));
    if (!status.ok()) return status;
  }
  for (const Row& row : plan.rows) {
    if (std::find(row.splits.begin(), row.splits.end(), split) == row.splits.end()) continue;
    if (scores->contains({split, row.variant})) continue;
    TrainerOptions trainer = plan.variants[row.variant].trainer;
    trainer.network.seed = planned.seed;
    trainer.network.opcodes = TileFeatureSchema().opcodes;
    absl::StatusOr<StudyScores> run = (*data)->Run(trainer);
    if (!run.ok()) return run.status();
    if (options.progress) {
      options.progress(absl::StrFormat("%s, %s: %.0f s, best epoch %d",
                                       plan.variants[row.variant].name, planned.split.name,
                                       run->training_seconds, run->best_epoch));
    }
    scores->emplace(std::pair(split, row.variant), *std::move(run));
  }
  return absl::OkStatus();
}

// The metrics of one model: medians over seeds, every seed, and the interval over all kernels.
nlohmann::json Summarize(const std::map<uint64_t, std::vector<ScoredKernel>>& by_seed,
                         int64_t bootstrap) {
  std::map<std::string, std::vector<double>> values;
  std::vector<ScoredKernel> all;
  for (const auto& [seed, kernels] : by_seed) {
    const nlohmann::json metrics = ToJson(SummarizeScores(kernels, 0, 1));
    for (const auto& [name, metric] : metrics.items()) {
      if (metric.is_object()) values[name].push_back(metric["value"].get<double>());
    }
    all.insert(all.end(), kernels.begin(), kernels.end());
  }
  nlohmann::json result = ToJson(SummarizeScores(all, static_cast<int>(bootstrap), 1));
  for (const auto& [name, of_seeds] : values) {
    result[name].erase("value");
    result[name]["median"] = MedianOf(of_seeds);
    result[name]["seeds"] = of_seeds;
  }
  return result;
}

nlohmann::json RowToJson(const StudyOptions& options, const Plan& plan, const Row& row,
                         const ScoresBySplit& scores) {
  std::map<uint64_t, std::vector<ScoredKernel>> learned, analytical;
  std::vector<double> kernels, configs, seconds;
  for (const size_t split : row.splits) {
    const StudyScores& run = scores.at({split, row.variant});
    const uint64_t seed = plan.splits[split].seed;
    learned[seed].insert(learned[seed].end(), run.learned.begin(), run.learned.end());
    analytical[seed].insert(analytical[seed].end(), run.analytical.begin(), run.analytical.end());
    kernels.push_back(static_cast<double>(run.training_kernels));
    configs.push_back(static_cast<double>(run.training_configs));
    seconds.push_back(run.training_seconds);
  }
  return {{"name", row.name},
          {"training",
           {{"kernels_median", MedianOf(kernels)},
            {"configs_median", MedianOf(configs)},
            {"seconds_median", MedianOf(seconds)}}},
          {"learned", Summarize(learned, options.bootstrap)},
          {"analytical", Summarize(analytical, options.bootstrap)}};
}

constexpr const char* kKindNames[] = {"random", "unseen", "transfer", "curve", "ablation"};

std::string Cell(const nlohmann::json& row, const char* metric, int digits, bool interval) {
  const auto show = [&](const char* model) {
    const nlohmann::json& value = row[model][metric];
    std::string text = absl::StrFormat("%.*f", digits, value["median"].get<double>());
    if (interval) {
      absl::StrAppendFormat(&text, " [%.*f, %.*f]", digits, value["low"].get<double>(), digits,
                            value["high"].get<double>());
    }
    return text;
  };
  return absl::StrCat(show("learned"), " / ", show("analytical"));
}

// A family's name is the user's.
std::string MarkdownCell(const std::string& text) {
  return absl::StrReplaceAll(PrintableLine(text), {{"|", "\\|"}});
}

}  // namespace

absl::StatusOr<nlohmann::json> RunModelStudy(const StudyOptions& options) {
  absl::StatusOr<Plan> plan = Planner(options).Make();
  if (!plan.ok()) return plan.status();
  ScoresBySplit scores;
  for (size_t split = 0; split < plan->splits.size(); ++split) {
    if (absl::Status status = RunSplit(options, *plan, split, &scores); !status.ok()) return status;
  }
  nlohmann::json study = {{"study", kKindNames[static_cast<size_t>(options.kind)]},
                          {"seeds", options.seeds},
                          {"trainer", ToJson(options.trainer)},
                          {"files", options.files.size()},
                          {"rows", nlohmann::json::array()}};
  for (const Row& row : plan->rows) study["rows"].push_back(RowToJson(options, *plan, row, scores));
  return study;
}

std::string StudyToMarkdown(const nlohmann::json& study) {
  std::string text =
      "learned / analytical: the median over seeds, in brackets where 95 % of bootstrap samples of "
      "the kernels of all seeds lie\n\n"
      "| case | trained on kernels, configurations | judged kernels | tau | Tile-Size APE % | "
      "top-1 % | top-5 % | MAPE % |\n|---|---|---|---|---|---|---|---|\n";
  for (const nlohmann::json& row : study["rows"]) {
    const nlohmann::json& training = row["training"];
    absl::StrAppendFormat(
        &text, "| %s | %.0f, %.0f | %d | %s | %s | %s | %s | %s |\n",
        MarkdownCell(row["name"].get<std::string>()), training["kernels_median"].get<double>(),
        training["configs_median"].get<double>(), row["learned"]["kernels"].get<int64_t>(),
        Cell(row, "kendall_tau", 3, true), Cell(row, "tile_size_ape_percent", 2, true),
        Cell(row, "top1_error_percent", 2, false), Cell(row, "top5_error_percent", 2, false),
        Cell(row, "mape_percent", 1, false));
  }
  return text;
}

}  // namespace autotune
