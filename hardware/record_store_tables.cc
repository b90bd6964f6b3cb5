#include "hardware/record_store_tables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace autotune {
namespace {

// Rows per round trip: enough to make the trip cheap, few enough to stay in the cache.
constexpr size_t kBatchRows = 1024;

// Columns of rows as SOCI's bulk operations want them.
struct CandidateColumns {
  std::vector<std::string> run, kernel_name, config, derived, fate, samples, failure, message,
      compile_seconds, compiler_estimate, predictions, method;
  std::vector<long long> sequence, kernel, context, recorded, is_default, checksum;

  void Resize(size_t size) {
    for (auto* texts : {&run, &kernel_name, &config, &derived, &fate, &samples, &failure, &message,
                        &compile_seconds, &compiler_estimate, &predictions, &method}) {
      texts->resize(size);
    }
    for (auto* numbers : {&sequence, &kernel, &context, &recorded, &is_default, &checksum}) {
      numbers->resize(size);
    }
  }

  void Set(size_t i, const CandidateRow& row) {
    run[i] = row.run;
    sequence[i] = row.sequence;
    kernel[i] = row.kernel;
    kernel_name[i] = row.kernel_name;
    context[i] = row.context;
    config[i] = row.config;
    derived[i] = row.derived;
    fate[i] = row.fate;
    samples[i] = row.samples;
    failure[i] = row.failure;
    message[i] = row.message;
    compile_seconds[i] = row.compile_seconds;
    compiler_estimate[i] = row.compiler_estimate;
    predictions[i] = row.predictions;
    recorded[i] = row.recorded;
    method[i] = row.method;
    is_default[i] = row.is_default ? 1 : 0;
    checksum[i] = row.Checksum();
  }

  StoredCandidateRow Take(size_t i) {
    StoredCandidateRow stored;
    CandidateRow& row = stored.row;
    row.run = std::move(run[i]);
    row.sequence = sequence[i];
    row.kernel = kernel[i];
    row.kernel_name = std::move(kernel_name[i]);
    row.context = context[i];
    row.config = std::move(config[i]);
    row.derived = std::move(derived[i]);
    row.fate = std::move(fate[i]);
    row.samples = std::move(samples[i]);
    row.failure = std::move(failure[i]);
    row.message = std::move(message[i]);
    row.compile_seconds = std::move(compile_seconds[i]);
    row.compiler_estimate = std::move(compiler_estimate[i]);
    row.predictions = std::move(predictions[i]);
    row.recorded = recorded[i];
    row.method = std::move(method[i]);
    row.is_default = is_default[i] != 0;
    stored.checksum = checksum[i];
    return stored;
  }
};

constexpr char kCandidateColumns[] =
    "run, sequence, kernel, kernel_name, context, config, derived, fate, samples, failure, message,"
    " compile_seconds, compiler_estimate, predictions, recorded, method, is_default, checksum";

}  // namespace

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

std::vector<StoredRun> ReadRuns(soci::session& sql, const std::string& where) {
  std::vector<StoredRun> runs;
  RunRecord run;
  long long seed = 0, started = 0, finished = 0, checksum = 0;
  soci::indicator has_finished = soci::i_null;
  soci::statement select =
      (sql.prepare << "SELECT id, program, options, seed, started, finished, outcome, checksum "
                      "FROM runs "
                   << where,
       soci::into(run.id), soci::into(run.program), soci::into(run.options_json), soci::into(seed),
       soci::into(started), soci::into(finished, has_finished), soci::into(run.outcome),
       soci::into(checksum));
  select.execute();
  while (select.fetch()) {
    run.seed = static_cast<uint64_t>(seed);
    run.started_unix_micros = started;
    run.finished_unix_micros = std::nullopt;
    if (has_finished == soci::i_ok) run.finished_unix_micros = finished;
    runs.push_back({run, checksum});
  }
  return runs;
}

void InsertRun(soci::session& sql, const RunRecord& run) {
  const std::string id = CleanText(run.id), program = CleanText(run.program);
  const std::string options = CleanText(run.options_json), outcome = CleanText(run.outcome);
  const long long seed = static_cast<int64_t>(run.seed), started = run.started_unix_micros;
  const long long finished = run.finished_unix_micros.value_or(0);
  soci::indicator has_finished = run.finished_unix_micros.has_value() ? soci::i_ok : soci::i_null;
  const long long checksum = RunChecksum(run);
  sql << "INSERT INTO runs (id, program, options, seed, started, finished, outcome, checksum)"
         " VALUES (:id, :program, :options, :seed, :started, :finished, :outcome, :checksum)",
      soci::use(id), soci::use(program), soci::use(options), soci::use(seed), soci::use(started),
      soci::use(finished, has_finished), soci::use(outcome), soci::use(checksum);
}

void StoreRunChecksum(soci::session& sql, const std::string& run_id) {
  for (const StoredRun& stored : ReadRuns(sql, absl::StrCat("WHERE id = ", Quoted(run_id)))) {
    const long long checksum = RunChecksum(stored.run);
    sql << "UPDATE runs SET checksum = :checksum WHERE id = :id", soci::use(checksum),
        soci::use(run_id);
  }
}

ContextMap ReadContexts(soci::session& sql, std::vector<int64_t>* damaged) {
  ContextMap contexts;
  long long id = 0;
  std::string device, backend, versions, flags, source;
  soci::statement select =
      (sql.prepare << "SELECT id, device, backend, versions, flags, source FROM contexts",
       soci::into(id), soci::into(device), soci::into(backend), soci::into(versions),
       soci::into(flags), soci::into(source));
  select.execute();
  while (select.fetch()) {
    const std::optional<TimeSource> known = TimeSourceFromName(source);
    MeasurementContext context = {device, backend, versions, flags,
                                  known.value_or(TimeSource::kHardware)};
    if (known.has_value() && ContextId(context) == id) {
      contexts[id] = std::move(context);
    } else if (damaged != nullptr) {
      damaged->push_back(id);
    }
  }
  return contexts;
}

void InsertContexts(soci::session& sql, const std::vector<MeasurementContext>& contexts) {
  for (const MeasurementContext& context : contexts) {
    const long long id = ContextId(context);
    const std::string source(TimeSourceName(context.source));
    sql << "INSERT INTO contexts (id, device, backend, versions, flags, source)"
           " VALUES (:id, :device, :backend, :versions, :flags, :source)"
           " ON CONFLICT (id) DO NOTHING",
        soci::use(id), soci::use(context.device), soci::use(context.backend),
        soci::use(context.versions), soci::use(context.flags), soci::use(source);
  }
}

void InsertCandidates(soci::session& sql, const std::vector<CandidateRow>& rows) {
  CandidateColumns columns;
  columns.Resize(std::min(rows.size(), kBatchRows));
  soci::statement insert =
      (sql.prepare << "INSERT INTO candidates (" << kCandidateColumns
                   << ") VALUES (:a, :b, :c, :d, :e, :f, :g, :h, :i, :j, :k, :l, :m, :n, :o, :p,"
                      " :q, :r)"
                      " ON CONFLICT (run, sequence) DO NOTHING",
       soci::use(columns.run), soci::use(columns.sequence), soci::use(columns.kernel),
       soci::use(columns.kernel_name), soci::use(columns.context), soci::use(columns.config),
       soci::use(columns.derived), soci::use(columns.fate), soci::use(columns.samples),
       soci::use(columns.failure), soci::use(columns.message), soci::use(columns.compile_seconds),
       soci::use(columns.compiler_estimate), soci::use(columns.predictions),
       soci::use(columns.recorded), soci::use(columns.method), soci::use(columns.is_default),
       soci::use(columns.checksum));
  for (size_t start = 0; start < rows.size(); start += kBatchRows) {
    const size_t count = std::min(kBatchRows, rows.size() - start);
    columns.Resize(count);
    for (size_t i = 0; i < count; ++i) columns.Set(i, rows[start + i]);
    insert.execute(/*withDataExchange=*/true);
  }
}

const CandidateRow* FindDiffering(soci::session& sql, const std::vector<CandidateRow>& rows) {
  // One range of the primary key for each stretch of rows of one run.
  for (size_t start = 0; start < rows.size();) {
    size_t end = start;
    std::map<int64_t, const CandidateRow*> by_sequence;
    while (end < rows.size() && rows[end].run == rows[start].run) {
      by_sequence[rows[end].sequence] = &rows[end];
      ++end;
    }
    const long long first = by_sequence.begin()->first, last = by_sequence.rbegin()->first;
    long long sequence = 0, checksum = 0;
    soci::statement select =
        (sql.prepare << "SELECT sequence, checksum FROM candidates WHERE run = :run"
                        " AND sequence BETWEEN :first AND :last",
         soci::use(rows[start].run), soci::use(first), soci::use(last), soci::into(sequence),
         soci::into(checksum));
    select.execute();
    while (select.fetch()) {
      const auto row = by_sequence.find(sequence);
      if (row != by_sequence.end() && row->second->Checksum() != checksum) return row->second;
    }
    start = end;
  }
  return nullptr;
}

void ForEachCandidate(soci::session& sql, const std::string& where, const std::string& order,
                      const std::function<void(const StoredCandidateRow&)>& visit) {
  CandidateColumns columns;
  columns.Resize(kBatchRows);
  soci::statement select =
      (sql.prepare << "SELECT " << kCandidateColumns << " FROM candidates WHERE " << where
                   << " ORDER BY " << order,
       soci::into(columns.run), soci::into(columns.sequence), soci::into(columns.kernel),
       soci::into(columns.kernel_name), soci::into(columns.context), soci::into(columns.config),
       soci::into(columns.derived), soci::into(columns.fate), soci::into(columns.samples),
       soci::into(columns.failure), soci::into(columns.message),
       soci::into(columns.compile_seconds), soci::into(columns.compiler_estimate),
       soci::into(columns.predictions), soci::into(columns.recorded), soci::into(columns.method),
       soci::into(columns.is_default), soci::into(columns.checksum));
  select.execute();
  while (select.fetch()) {
    const size_t count = columns.run.size();
    for (size_t i = 0; i < count; ++i) visit(columns.Take(i));
    columns.Resize(kBatchRows);
  }
}

void ForEachKernel(soci::session& sql, const std::string& where,
                   const std::function<void(const KernelRow&)>& visit) {
  KernelRow row;
  long long fingerprint = 0;
  long long checksum = 0;
  soci::statement select =
      (sql.prepare << "SELECT fingerprint, name, kernel, checksum FROM kernels " << where,
       soci::into(fingerprint), soci::into(row.name), soci::into(row.kernel), soci::into(checksum));
  select.execute();
  while (select.fetch()) {
    row.fingerprint = fingerprint;
    row.checksum = checksum;
    visit(row);
  }
}

}  // namespace autotune
