#include "costmodel/analytical_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "hlo/cholesky.h"

namespace autotune {
namespace {

using Vector = std::vector<double>;

constexpr int kMaxRounds = 200;
constexpr double kOutlierLog = 0.1;
constexpr double kSmallest = 1e-4;  // relative to the start: constants cannot vanish or explode
constexpr double kLargest = 1e2;

// sign(r) * sqrt(loss), where loss is quadratic near 0 and linear beyond kOutlierLog.
double Damped(double residual) {
  const double scaled = residual / kOutlierLog;
  const double loss = 2 * (std::sqrt(1 + scaled * scaled) - 1);
  return std::copysign(kOutlierLog * std::sqrt(loss), residual);
}

AnalyticalConstants FromLogs(const Vector& logs) {
  AnalyticalConstants constants;
  const auto& list = AnalyticalConstantList();
  for (size_t i = 0; i < list.size(); ++i) constants.*list[i].value = std::exp(logs[i]);
  return constants;
}

Vector ToLogs(const AnalyticalConstants& constants) {
  Vector logs;
  for (const NamedConstant& c : AnalyticalConstantList())
    logs.push_back(std::log(constants.*c.value));
  return logs;
}

Vector Residuals(absl::Span<const AnalyticalFitKernel> kernels, const Vector& logs) {
  const AnalyticalConstants constants = FromLogs(logs);
  AnalyticalScratch scratch;
  Vector residuals;
  for (const AnalyticalFitKernel& k : kernels) {
    const double weight = std::pow(static_cast<double>(k.tiles.size()), -0.25);
    for (size_t i = 0; i < k.tiles.size(); ++i) {
      const double predicted = k.kernel->Estimate(k.tiles[i], constants, &scratch).seconds;
      residuals.push_back(weight * Damped(std::log(predicted / k.seconds[i])));
    }
  }
  return residuals;
}

double SquaredSum(const Vector& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return sum;
}

// The normal equations of the linearised problem: J^T J, row by row, and -J^T r.
void Linearise(absl::Span<const AnalyticalFitKernel> kernels, const Vector& logs,
               const Vector& residuals, Vector* normal, Vector* gradient) {
  constexpr double kStep = 1e-4;
  const size_t n = logs.size();
  std::vector<Vector> columns;
  for (size_t j = 0; j < n; ++j) {
    Vector moved = logs;
    moved[j] += kStep;
    Vector column = Residuals(kernels, moved);
    for (size_t i = 0; i < column.size(); ++i) column[i] = (column[i] - residuals[i]) / kStep;
    columns.push_back(std::move(column));
  }
  normal->assign(n * n, 0);
  gradient->assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t r = 0; r < residuals.size(); ++r) (*gradient)[i] -= columns[i][r] * residuals[r];
    for (size_t j = 0; j < n; ++j) {
      for (size_t r = 0; r < residuals.size(); ++r) {
        (*normal)[i * n + j] += columns[i][r] * columns[j][r];
      }
    }
  }
}

}  // namespace

AnalyticalConstants FitAnalyticalConstants(absl::Span<const AnalyticalFitKernel> kernels,
                                           const AnalyticalConstants& start) {
  const Vector first = ToLogs(start);
  Vector logs = first;
  Vector residuals = Residuals(kernels, logs);
  if (residuals.empty()) return start;
  double loss = SquaredSum(residuals);
  double damping = 1e-3;
  const size_t n = logs.size();
  Vector normal, gradient;
  for (int round = 0; round < kMaxRounds && damping < 1e8; ++round) {
    Linearise(kernels, logs, residuals, &normal, &gradient);
    for (size_t i = 0; i < n; ++i) normal[i * n + i] += damping * (normal[i * n + i] + 1e-6);
    Vector step = gradient;
    if (!SolveCholesky(absl::MakeSpan(normal), absl::MakeSpan(step))) {
      damping *= 10;
      continue;
    }
    Vector candidate = logs;
    for (size_t i = 0; i < logs.size(); ++i) {
      candidate[i] = std::clamp(logs[i] + std::clamp(step[i], -1.0, 1.0),
                                first[i] + std::log(kSmallest), first[i] + std::log(kLargest));
    }
    Vector next = Residuals(kernels, candidate);
    const double next_loss = SquaredSum(next);
    if (next_loss < loss) {
      const bool settled = loss - next_loss < 1e-9 * loss;
      logs = std::move(candidate);
      residuals = std::move(next);
      loss = next_loss;
      damping = std::max(damping / 4, 1e-9);
      if (settled) break;
    } else {
      damping *= 4;
    }
  }
  return FromLogs(logs);
}

}  // namespace autotune
