#include "tuner/command_records.h"

#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hardware/record_store.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"
#include "tuner/best_config.h"
#include "tuner/command_status.h"
#include "tuner/commands.h"
#include "tuner/number_options.h"
#include "tuner/printable.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kExamples[] = R"(
Examples:
  autotune records list --store sqlite:autotune-runs/RUN/records.db
  autotune records show RUN-ID --store sqlite:records.db
  autotune records verify --store sqlite:records.db      exit code 3 if anything is damaged
  autotune records export --store sqlite:records.db --to csv --out records.csv
  autotune records export --store sqlite:records.db --to pb --device tpu-v3 --out tiles.pb
  autotune records export --store sqlite:records.db --to npz --device tpu-v3 --out tiles/
  autotune records import records.jsonl tpu_v3.pb --store sqlite:team.db
  autotune records merge sqlite:mine.db sqlite:yours.db --store sqlite:team.db
  autotune records prune --older-than-days 90 --store sqlite:team.db
  autotune records prune --damaged --store sqlite:team.db)";

absl::StatusOr<std::unique_ptr<RecordStore>> Open(const std::string& url) {
  absl::StatusOr<std::unique_ptr<RecordStore>> store = RecordStore::Open(url);
  if (absl::IsInvalidArgument(store.status())) return WithExitCode(kExitWrongUse, store.status());
  return store;
}

std::string TimeText(int64_t unix_micros) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMicros(unix_micros),
                          absl::LocalTimeZone());
}

absl::Status List(RecordStore& store, const RecordsOptions& options, std::ostream& out) {
  absl::StatusOr<std::vector<RunRecord>> runs = store.ListRuns();
  if (!runs.ok()) return runs.status();
  absl::StatusOr<StoreTotals> totals = store.Totals();
  if (!totals.ok()) return totals.status();
  json list = json::array();
  TextTable table;
  using Align = TextTable::Align;
  table.Column("run", Align::kLeft).Column("started", Align::kLeft).Column("outcome", Align::kLeft);
  table.Column("program", Align::kLeft);
  for (const RunRecord& run : *runs) {
    const std::string outcome = run.outcome.empty() ? "unfinished" : run.outcome;
    table.Row({run.id, TimeText(run.started_unix_micros), outcome, run.program});
    list.push_back({{"id", run.id},
                    {"program", run.program},
                    {"started_unix_micros", run.started_unix_micros},
                    {"seed", run.seed},
                    {"outcome", run.outcome}});
  }
  if (options.json) {
    out << DumpJson({{"schema", "autotune.records/1"},
                     {"store", store.url()},
                     {"runs", list},
                     {"kernels", totals->kernels},
                     {"candidates", totals->candidates},
                     {"measured", totals->measured}})
        << "\n";
    return absl::OkStatus();
  }
  out << table.ToString() << CountsText({totals->runs, totals->kernels, totals->candidates}) << ", "
      << FormatCount(totals->measured) << " of them measured\n";
  return absl::OkStatus();
}

void AddMeasurement(const Measurement& measurement, json& value) {
  if (measurement.ok()) {
    value["seconds"] = measurement.MedianSeconds();
    value["samples"] =
        std::vector<double>(measurement.samples().begin(), measurement.samples().end());
  } else {
    value["failure"] = {{"kind", std::string(FailureKindName(measurement.failure().kind))},
                        {"message", measurement.failure().message}};
  }
  if (measurement.compile_seconds) value["compile_seconds"] = *measurement.compile_seconds;
  if (measurement.compiler_estimate_seconds) {
    value["compiler_estimate_seconds"] = *measurement.compiler_estimate_seconds;
  }
  if (!measurement.method.empty()) value["method"] = measurement.method;
}

json CandidateJson(const CandidateRecord& record) {
  json value = {{"sequence", record.sequence},
                {"kernel", record.kernel_name},
                {"fingerprint", FingerprintText(record.kernel_fingerprint)},
                {"device", record.context.device},
                {"backend", record.context.backend},
                {"versions", record.context.versions},
                {"flags", record.context.flags},
                {"time_source", std::string(TimeSourceName(record.context.source))},
                {"config", record.config.ToJson()},
                {"default", record.is_default},
                {"fate", std::string(FateName(record.fate))},
                {"unix_micros", record.unix_micros}};
  for (const Prediction& prediction : record.predictions) {
    json score;  // null where the model says that it cannot run, as in autotune.tune/1
    if (std::isfinite(prediction.score)) score = prediction.score;
    value["predictions"].push_back(
        {{"model", prediction.model}, {"score", score}, {"rank", prediction.rank}});
  }
  if (record.measurement) AddMeasurement(*record.measurement, value);
  return value;
}

absl::Status Show(RecordStore& store, const RecordsOptions& options, std::ostream& out) {
  absl::StatusOr<RunRecord> run = store.GetRun(options.run);
  if (!run.ok()) return WithExitCode(kExitBadInput, run.status());
  absl::StatusOr<std::vector<CandidateRecord>> candidates = store.RunCandidates(options.run);
  if (!candidates.ok()) return candidates.status();
  json list = json::array();
  TextTable table;
  using Align = TextTable::Align;
  table.Column("number").Column("kernel", Align::kLeft).Column("fate", Align::kLeft);
  table.Column("result").Column("configuration", Align::kLeft);
  for (const CandidateRecord& record : *candidates) {
    if (options.json) {
      list.push_back(CandidateJson(record));
      continue;
    }
    std::string result = "-";
    if (record.measurement) {
      result = record.measurement->ok()
                   ? FormatSeconds(record.measurement->MedianSeconds())
                   : std::string(FailureKindName(record.measurement->failure().kind));
    }
    table.Row({absl::StrCat(record.sequence), record.kernel_name,
               std::string(FateName(record.fate)), result, record.config.Key()});
  }
  if (options.json) {
    out << DumpJson({{"schema", "autotune.records/1"}, {"run", run->id}, {"candidates", list}})
        << "\n";
  } else {
    out << table.ToString();
  }
  return absl::OkStatus();
}

absl::Status Verify(RecordStore& store, const RecordsOptions& options, std::ostream& out) {
  absl::StatusOr<std::vector<DamagedRecord>> damaged = store.Verify();
  if (!damaged.ok()) return damaged.status();
  json list = json::array();
  for (const DamagedRecord& record : *damaged) {
    list.push_back({{"where", record.where}, {"what", record.what}});
    if (!options.json) out << PrintableLine(absl::StrCat(record.where, ": ", record.what)) << "\n";
  }
  if (options.json) {
    out << DumpJson({{"schema", "autotune.records/1"}, {"damaged", list}}) << "\n";
  } else if (damaged->empty()) {
    out << "all records are well\n";
  }
  if (damaged->empty()) return absl::OkStatus();
  return WithExitCode(kExitBadInput, absl::DataLossError(absl::StrCat(
                                         damaged->size(), " damaged records in ", store.url())));
}

using Action = absl::Status (*)(RecordStore&, const RecordsOptions&, std::ostream&);

int RunRecords(const RecordsOptions& options, Action action, CommandContext& context) {
  absl::StatusOr<std::unique_ptr<RecordStore>> store =
      action == ImportRecords || action == MergeRecords ? Open(options.store)
                                                        : OpenExistingStore(options.store);
  const absl::Status status = store.ok() ? action(**store, options, context.out) : store.status();
  context.out.flush();
  if (status.ok()) return kExitDone;
  // A damaged store is bad input, whether it was found at once or on the way.
  return context.Fail(absl::IsDataLoss(status) ? WithExitCode(kExitBadInput, status) : status);
}

void AddExportOptions(CLI::App& command, RecordsOptions& options) {
  command
      .add_option("--to", options.form,
                  "jsonl, csv, recording, or pb and npz as TpuGraphs has them")
      ->capture_default_str();
  command.add_option("--out", options.out, "File to write, a folder for npz; - is standard output")
      ->required();
  command.add_option("--device", options.device, "Of a recording: tpu-v3, ...");
  command.add_option("--times", options.source, "Of a recording: hardware or estimate")
      ->capture_default_str();
}

void AddPruneOptions(CLI::App& command, RecordsOptions& options) {
  command.add_option("--run", options.runs, "The id of a run; repeatable");
  AddNumber(command, "--older-than-days", options.older_than_days, kDaysRange,
            "Runs that started earlier");
  command.add_flag("--proposed", options.proposed_only,
                   "Only what was proposed and never measured; of all runs without --run");
  command.add_flag("--damaged", options.damaged,
                   "What verify names; runs that lost their own record are mended");
  command.add_flag("--dry-run", options.dry_run, "Say what would go, and change nothing");
}

}  // namespace

std::string CountsText(const ImportCounts& counts) {
  return absl::StrCat(CountOf(counts.runs, "run"), ", ", CountOf(counts.kernels, "kernel"), ", ",
                      CountOf(counts.candidates, "candidate"));
}

absl::StatusOr<std::unique_ptr<RecordStore>> OpenExistingStore(const std::string& url) {
  constexpr absl::string_view kSqlite = "sqlite:";
  if (url.compare(0, kSqlite.size(), kSqlite.data()) == 0) {
    const std::string path = url.substr(kSqlite.size());
    if (FILE* file = fopen(path.c_str(), "rb")) {
      fclose(file);
    } else {
      return WithExitCode(kExitBadInput,
                          absl::NotFoundError(absl::StrCat("there is no record store ", path)));
    }
  }
  return Open(url);
}

void AddRecordsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* records = app.add_subcommand("records", "Show, verify, move and prune record stores");
  records->require_subcommand(1);
  records->footer(kExamples);
  auto options = std::make_shared<RecordsOptions>();
  struct Entry {
    const char* name;
    const char* help;
    Action action;
  };
  for (const Entry& entry :
       {Entry{"list", "Runs, and how much the store holds", List},
        Entry{"show", "Every candidate of a run", Show},
        Entry{"verify", "Read everything; name what is damaged", Verify},
        Entry{"export", "Into a file", ExportRecords}, Entry{"import", "From files", ImportRecords},
        Entry{"merge", "Add other stores", MergeRecords},
        Entry{"prune", "Take runs, or what is damaged, out", PruneRecords}}) {
    CLI::App* command = records->add_subcommand(entry.name, entry.help);
    command->add_option("--store", options->store, "sqlite:PATH or postgresql://USER@HOST/DB")
        ->required();
    if (entry.action == List || entry.action == Show || entry.action == Verify) {
      command->add_flag("--json", options->json, "One JSON document on standard output");
    }
    if (entry.action == Show) command->add_option("RUN", options->run, "Its id")->required();
    if (entry.action == ExportRecords) AddExportOptions(*command, *options);
    if (entry.action == ImportRecords) {
      command->add_option("FILE", options->files, "JSON lines, CSV, recordings, npz")->required();
    }
    if (entry.action == MergeRecords) {
      command->add_option("STORE", options->files, "URLs of the stores to add")->required();
    }
    if (entry.action == PruneRecords) AddPruneOptions(*command, *options);
    command->callback([options, action = entry.action, &context] {
      context.exit_code = RunRecords(*options, action, context);
    });
  }
}

}  // namespace autotune
