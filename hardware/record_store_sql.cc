#include "hardware/record_store_sql.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_tables.h"
#include "hardware/recording_forms.h"
#include "soci/soci.h"

namespace autotune {
namespace {

absl::Status NoRun(const std::string& url, const std::string& run_id) {
  return absl::NotFoundError(absl::StrCat("record store ", url, " has no run ", run_id));
}

bool RunExists(soci::session& sql, const std::string& run_id) {
  int count = 0;
  sql << "SELECT COUNT(*) FROM runs WHERE id = :id", soci::use(run_id), soci::into(count);
  return count > 0;
}

// Runs that `where` (SQL after FROM runs) selects.
std::vector<RunRecord> ReadRuns(soci::session& sql, const std::string& where) {
  std::vector<RunRecord> runs;
  RunRecord run;
  long long seed = 0, started = 0, finished = 0;
  soci::indicator has_finished = soci::i_null;
  soci::statement select =
      (sql.prepare << "SELECT id, program, options, seed, started, finished, outcome FROM runs "
                   << where,
       soci::into(run.id), soci::into(run.program), soci::into(run.options_json), soci::into(seed),
       soci::into(started), soci::into(finished, has_finished), soci::into(run.outcome));
  select.execute();
  while (select.fetch()) {
    run.seed = static_cast<uint64_t>(seed);
    run.started_unix_micros = started;
    run.finished_unix_micros = std::nullopt;
    if (has_finished == soci::i_ok) run.finished_unix_micros = finished;
    runs.push_back(run);
  }
  return runs;
}

MeasurementContext Clean(const MeasurementContext& context) {
  return {CleanText(context.device), CleanText(context.backend), CleanText(context.versions),
          CleanText(context.flags), context.source};
}

bool Matches(const MeasurementContext& stored, const MeasurementContext& wanted,
             VersionMatch match) {
  if (match == VersionMatch::kStrict) return stored == wanted;
  return stored.device == wanted.device && stored.source == wanted.source;
}

void SaveCheckpoint(soci::session& sql, const std::string& run_id, const std::string& checkpoint) {
  const std::string state = absl::Base64Escape(checkpoint);
  const long long checksum = TextChecksum({run_id, state});
  sql << "INSERT INTO checkpoints (run, state, checksum) VALUES (:run, :state, :checksum)"
         " ON CONFLICT (run) DO UPDATE SET state = excluded.state, checksum = excluded.checksum",
      soci::use(run_id), soci::use(state), soci::use(checksum);
}

// The runs whose checkpoint does not fit its checksum.
std::vector<std::string> DamagedCheckpoints(soci::session& sql) {
  std::vector<std::string> damaged;
  std::string run, state;
  long long checksum = 0;
  soci::statement select =
      (sql.prepare << "SELECT run, state, checksum FROM checkpoints ORDER BY run", soci::into(run),
       soci::into(state), soci::into(checksum));
  select.execute();
  while (select.fetch()) {
    if (checksum != TextChecksum({run, state})) damaged.push_back(run);
  }
  return damaged;
}

// A kernel as the text of the table `kernels`.
std::string KernelText(const Kernel& kernel) {
  proto::KernelRecord record;
  KernelToProto(kernel, &record);
  return absl::Base64Escape(Gzip(SerializeDeterministically(record)));
}

absl::StatusOr<Kernel> KernelFromText(const std::string& name, const std::string& text) {
  std::string compressed;
  proto::KernelRecord record;
  if (!absl::Base64Unescape(text, &compressed)) {
    return absl::DataLossError(absl::StrCat("kernel ", name, ": no base64 text"));
  }
  const absl::StatusOr<std::string> bytes = Gunzip(compressed, absl::StrCat("kernel ", name));
  if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
  if (!record.ParseFromString(*bytes)) {
    return absl::DataLossError(absl::StrCat("kernel ", name, ": cannot be parsed"));
  }
  return KernelFromProto(record);
}

// Collects the rows of one kernel into one result per configuration.
class ResultCollector {
 public:
  // Key and outcome as ForEachOutcome gives them.
  absl::Status Add(const std::string& key, absl::string_view outcome, TimeSource source) {
    absl::StatusOr<Measurement> measurement = MeasurementOf(outcome, source);
    if (!measurement.ok()) return measurement.status();
    if (!measurement->ok()) {
      const FailureKind kind = measurement->failure().kind;
      if (kind == FailureKind::kKernelNotRecorded || kind == FailureKind::kConfigNotRecorded) {
        return absl::OkStatus();
      }
    }
    const auto [found, is_new] = index_.emplace(key, results_.size());
    if (is_new) {
      absl::StatusOr<Config> config = Config::FromKey(key);
      if (!config.ok()) return config.status();
      results_.push_back({*std::move(config), *std::move(measurement)});
    } else {
      Join(*measurement, &results_[found->second].measurement);
    }
    return absl::OkStatus();
  }

  std::vector<StoredResult> Take() { return std::move(results_); }

 private:
  static absl::StatusOr<Measurement> MeasurementOf(absl::string_view outcome, TimeSource source) {
    if (!absl::ConsumePrefix(&outcome, "!")) return MeasurementFromColumns(outcome, "", "", source);
    const size_t colon = outcome.find(':');
    return MeasurementFromColumns("", outcome.substr(0, colon), outcome.substr(colon + 1), source);
  }

  // Samples add up; a time beats a failure; of failures the first stays.
  static void Join(const Measurement& more, Measurement* known) {
    if (!more.ok()) return;
    if (!known->ok()) {
      *known = more;
      return;
    }
    std::vector<double> samples(known->samples().begin(), known->samples().end());
    samples.insert(samples.end(), more.samples().begin(), more.samples().end());
    *known = Measurement::FromSamples(std::move(samples), known->source());
  }

  std::vector<StoredResult> results_;
  absl::flat_hash_map<std::string, size_t> index_;
};

}  // namespace

absl::Status SqlRecordStore::BeginRun(const RunRecord& run) {
  return session_->Write([&](soci::session& sql) -> absl::Status {
    if (RunExists(sql, run.id)) {
      return absl::AlreadyExistsError(
          absl::StrCat("record store ", url(), " already has a run ", run.id));
    }
    const std::string id = CleanText(run.id), program = CleanText(run.program);
    const std::string options = CleanText(run.options_json), outcome = CleanText(run.outcome);
    const long long seed = static_cast<int64_t>(run.seed), started = run.started_unix_micros;
    const long long finished = run.finished_unix_micros.value_or(0);
    soci::indicator has_finished = run.finished_unix_micros.has_value() ? soci::i_ok : soci::i_null;
    sql << "INSERT INTO runs (id, program, options, seed, started, finished, outcome)"
           " VALUES (:id, :program, :options, :seed, :started, :finished, :outcome)",
        soci::use(id), soci::use(program), soci::use(options), soci::use(seed), soci::use(started),
        soci::use(finished, has_finished), soci::use(outcome);
    return absl::OkStatus();
  });
}

absl::Status SqlRecordStore::FinishRun(const std::string& run_id, int64_t finished_unix_micros,
                                       const std::string& outcome) {
  return session_->Write([&](soci::session& sql) -> absl::Status {
    if (!RunExists(sql, run_id)) return NoRun(url(), run_id);
    const long long finished = finished_unix_micros;
    const std::string clean = CleanText(outcome);
    sql << "UPDATE runs SET finished = :finished, outcome = :outcome WHERE id = :id",
        soci::use(finished), soci::use(clean), soci::use(run_id);
    return absl::OkStatus();
  });
}

absl::StatusOr<RunRecord> SqlRecordStore::GetRun(const std::string& run_id) {
  std::vector<RunRecord> runs;
  absl::Status status = session_->Read([&](soci::session& sql) {
    runs = ReadRuns(sql, absl::StrCat("WHERE id = ", Quoted(CleanText(run_id))));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (runs.empty()) return NoRun(url(), run_id);
  return runs[0];
}

absl::StatusOr<std::vector<RunRecord>> SqlRecordStore::ListRuns() {
  std::vector<RunRecord> runs;
  absl::Status status = session_->Read([&](soci::session& sql) {
    runs = ReadRuns(sql, "ORDER BY started, id");
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return runs;
}

absl::Status SqlRecordStore::PutKernels(absl::Span<const Kernel> kernels) {
  return session_->Write([&](soci::session& sql) {
    for (const Kernel& kernel : kernels) {
      const long long fingerprint = static_cast<int64_t>(kernel.fingerprint);
      const std::string name = CleanText(kernel.name);
      const std::string text = KernelText(kernel);
      const long long checksum = TextChecksum({name, text});
      sql << "INSERT INTO kernels (fingerprint, name, kernel, checksum)"
             " VALUES (:fingerprint, :name, :kernel, :checksum)"
             " ON CONFLICT (fingerprint) DO NOTHING",
          soci::use(fingerprint), soci::use(name), soci::use(text), soci::use(checksum);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Kernel> SqlRecordStore::GetKernel(uint64_t fingerprint) {
  std::string name, text;
  bool found = false;
  absl::Status status = session_->Read([&](soci::session& sql) {
    const long long key = static_cast<int64_t>(fingerprint);
    sql << "SELECT name, kernel FROM kernels WHERE fingerprint = :key", soci::use(key),
        soci::into(name), soci::into(text);
    found = sql.got_data();
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (!found) {
    return absl::NotFoundError(absl::StrCat("record store ", url(), " has no kernel ",
                                            absl::Hex(fingerprint, absl::kZeroPad16)));
  }
  return KernelFromText(name, text);
}

absl::Status SqlRecordStore::Append(absl::Span<const CandidateRecord> records,
                                    std::optional<std::string> checkpoint) {
  if (records.empty() && !checkpoint.has_value()) return absl::OkStatus();
  if (records.empty()) {
    return absl::InvalidArgumentError("record store: a checkpoint needs a record to name its run");
  }
  std::vector<CandidateRow> rows;
  rows.reserve(records.size());
  std::vector<std::string> runs;
  std::vector<MeasurementContext> contexts;
  for (const CandidateRecord& record : records) {
    CandidateRow& row = rows.emplace_back(RowFromCandidate(record));
    const MeasurementContext context = Clean(record.context);
    row.context = ContextId(context);
    if (runs.empty() || runs.back() != row.run) runs.push_back(row.run);
    if (contexts.empty() || !(contexts.back() == context)) contexts.push_back(context);
  }
  if (checkpoint.has_value() && runs.size() > 1) {
    return absl::InvalidArgumentError("record store: a checkpoint beside records of several runs");
  }
  return session_->Write([&](soci::session& sql) -> absl::Status {
    for (const std::string& run : runs) {
      if (!RunExists(sql, run)) return NoRun(url(), run);
    }
    InsertContexts(sql, contexts);
    InsertCandidates(sql, rows);
    if (checkpoint.has_value()) SaveCheckpoint(sql, runs[0], *checkpoint);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> SqlRecordStore::LoadCheckpoint(const std::string& run_id) {
  std::string state, checkpoint;
  long long checksum = 0;
  bool found = false;
  absl::Status status = session_->Read([&](soci::session& sql) {
    sql << "SELECT state, checksum FROM checkpoints WHERE run = :run", soci::use(run_id),
        soci::into(state), soci::into(checksum);
    found = sql.got_data();
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (!found) {
    return absl::NotFoundError(
        absl::StrCat("record store ", url(), " has no checkpoint of run ", run_id));
  }
  if (checksum != TextChecksum({run_id, state}) || !absl::Base64Unescape(state, &checkpoint)) {
    return absl::DataLossError(
        absl::StrCat("record store ", url(), ": the checkpoint of run ", run_id, " is damaged"));
  }
  return checkpoint;
}

absl::StatusOr<std::vector<StoredResult>> SqlRecordStore::Lookup(uint64_t kernel_fingerprint,
                                                                 const MeasurementContext& context,
                                                                 VersionMatch match) {
  ResultCollector collector;
  absl::Status status = session_->Read([&](soci::session& sql) {
    std::vector<int64_t> ids;
    for (const auto& [id, stored] : ReadContexts(sql)) {
      if (Matches(stored, Clean(context), match)) ids.push_back(id);
    }
    if (ids.empty()) return absl::OkStatus();
    absl::Status first_error;
    ForEachOutcome(
        sql,
        absl::StrCat("kernel = ", static_cast<int64_t>(kernel_fingerprint), " AND context IN (",
                     absl::StrJoin(ids, ", "), ") AND fate = ", Quoted(FateName(Fate::kMeasured))),
        "recorded, run, sequence", [&](const std::string& key, const std::string& outcome) {
          absl::Status error = collector.Add(key, outcome, context.source);
          if (error.ok() || !first_error.ok()) return;
          first_error = absl::DataLossError(absl::StrCat(
              "record store ", url(), ": a record of kernel ",
              absl::Hex(kernel_fingerprint, absl::kZeroPad16), ", configuration ", key,
              ", is damaged: ", error.message(), "; `autotune records verify` names it"));
        });
    return first_error;
  });
  if (!status.ok()) return status;
  return collector.Take();
}

absl::StatusOr<std::vector<CandidateRecord>> SqlRecordStore::RunCandidates(
    const std::string& run_id) {
  std::vector<CandidateRecord> records;
  absl::Status status = session_->Read([&](soci::session& sql) -> absl::Status {
    if (!RunExists(sql, run_id)) return NoRun(url(), run_id);
    const ContextMap contexts = ReadContexts(sql);
    absl::Status first_error;
    ForEachCandidate(sql, absl::StrCat("run = ", Quoted(CleanText(run_id))), "sequence",
                     [&](const StoredCandidateRow& stored) {
                       const auto context = contexts.find(stored.row.context);
                       absl::StatusOr<CandidateRecord> record =
                           context == contexts.end()
                               ? absl::DataLossError("its context is not stored")
                               : CandidateFromRow(stored.row, context->second);
                       if (record.ok()) {
                         records.push_back(*std::move(record));
                       } else if (first_error.ok()) {
                         first_error = absl::DataLossError(absl::StrCat(
                             "record store ", url(), ": candidate ", stored.row.sequence,
                             " of run ", run_id, ": ", record.status().message()));
                       }
                     });
    return first_error;
  });
  if (!status.ok()) return status;
  return records;
}

absl::StatusOr<StoreTotals> SqlRecordStore::Totals() {
  long long runs = 0, kernels = 0, candidates = 0, measured = 0;
  absl::Status status = session_->Read([&](soci::session& sql) {
    const std::string fate(FateName(Fate::kMeasured));
    sql << "SELECT CAST(COUNT(*) AS BIGINT) FROM runs", soci::into(runs);
    sql << "SELECT CAST(COUNT(*) AS BIGINT) FROM kernels", soci::into(kernels);
    sql << "SELECT CAST(COUNT(*) AS BIGINT) FROM candidates", soci::into(candidates);
    sql << "SELECT CAST(COUNT(*) AS BIGINT) FROM candidates WHERE fate = :fate", soci::use(fate),
        soci::into(measured);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return StoreTotals{runs, kernels, candidates, measured};
}

absl::StatusOr<std::vector<DamagedRecord>> SqlRecordStore::Verify() {
  std::vector<DamagedRecord> damaged;
  absl::Status status = session_->Read([&](soci::session& sql) {
    if (session_->location().kind == StoreLocation::Kind::kSqlite) {
      std::vector<std::string> lines(100);
      sql << "PRAGMA integrity_check(100)", soci::into(lines);
      for (const std::string& line : lines) {
        if (line != "ok") damaged.push_back({"the database file", line});
      }
    }
    const ContextMap contexts = ReadContexts(sql);
    for (const auto& [id, context] : contexts) {
      if (ContextId(context) == id) continue;
      damaged.push_back({absl::StrCat("context ", id), "its content does not fit its number"});
    }
    ForEachCandidate(sql, "1 = 1", "run, sequence", [&](const StoredCandidateRow& stored) {
      const std::string where =
          absl::StrCat("candidate ", stored.row.sequence, " of run ", stored.row.run);
      const auto context = contexts.find(stored.row.context);
      if (stored.row.Checksum() != stored.checksum) {
        damaged.push_back({where, "its checksum is wrong"});
      } else if (context == contexts.end()) {
        damaged.push_back({where, "its context is not stored"});
      } else if (auto record = CandidateFromRow(stored.row, context->second); !record.ok()) {
        damaged.push_back({where, std::string(record.status().message())});
      }
    });
    for (const std::string& run : DamagedCheckpoints(sql)) {
      damaged.push_back({absl::StrCat("checkpoint of run ", run), "its checksum is wrong"});
    }
    ForEachKernel(sql, [&](const KernelRow& row) {
      const std::string where = absl::StrCat("kernel ", row.name);
      if (TextChecksum({row.name, row.kernel}) != row.checksum) {
        damaged.push_back({where, "its checksum is wrong"});
      } else if (auto kernel = KernelFromText(row.name, row.kernel); !kernel.ok()) {
        damaged.push_back({where, std::string(kernel.status().message())});
      }
    });
    return absl::OkStatus();
  });
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  if (!status.ok()) damaged.push_back({"the database file", std::string(status.message())});
  return damaged;
}

}  // namespace autotune
