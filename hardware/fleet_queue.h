#ifndef AUTOTUNE_HARDWARE_FLEET_QUEUE_H_
#define AUTOTUNE_HARDWARE_FLEET_QUEUE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "hardware/measurement_backend.h"

namespace autotune {

// The candidates of one batch on their way to a result, each exactly once. Knows nothing of workers
// but their hosts. Not thread-safe.
class FleetQueue {
 public:
  // `candidates` must outlive the queue. One in `check_every` (0: none) is to be measured twice.
  FleetQueue(absl::Span<const Candidate> candidates, int check_every);

  // Positions of up to `most` candidates for a worker on `host`, one of `hosts`. Those that failed
  // on this host go to one where they did not, if there is one; one over which a worker died goes
  // alone.
  std::vector<size_t> Take(const std::string& host, int most, size_t hosts);

  // The worker that had them died or hung. A candidate that was lost `attempts` times gets the
  // failure as its result.
  void Lost(absl::Span<const size_t> positions, const std::string& host, int attempts,
            const Failure& failure);

  // They were taken and not looked at: they wait again, first.
  void GiveBack(absl::Span<const size_t> positions);

  // A result came. Returns the difference from the first host's time (0.3: 30 %) if this was the
  // second look at a candidate.
  std::optional<double> Answered(size_t position, const std::string& host, Measurement result);
  // Adds a remark to a result's method.
  void Remark(size_t position, const std::string& remark);

  // Positions of the results that have become final since the last call. A second look for which
  // there is no second host is given up.
  std::vector<size_t> TakeFinished(size_t hosts);
  // REQUIRES: it is final.
  const Measurement& result(size_t position) const { return *items_[position].result; }

  // Nothing waits (the second looks that found no other host do not count), nothing is under way.
  bool Done(size_t hosts) const;
  size_t waiting() const { return waiting_.size(); }
  // REQUIRES: Done.
  std::vector<Measurement> TakeResults();

 private:
  struct Item {
    std::optional<Measurement> result;
    std::set<std::string> failed_on;
    std::string first_host;
    int lost = 0;
    bool to_check = false;
    bool checking = false;  // has a result and is measured again
  };

  bool Suits(const Item& item, const std::string& host, size_t hosts) const;

  std::vector<Item> items_;
  std::deque<size_t> waiting_;
  std::vector<size_t> finished_;  // and not taken yet
  size_t unanswered_;
  size_t checks_under_way_ = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FLEET_QUEUE_H_
