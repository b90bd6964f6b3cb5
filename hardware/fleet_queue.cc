#include "hardware/fleet_queue.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/fingerprint.h"

namespace autotune {

FleetQueue::FleetQueue(absl::Span<const Candidate> candidates, int check_every)
    : items_(candidates.size()), unanswered_(candidates.size()) {
  for (size_t i = 0; i < candidates.size(); ++i) {
    waiting_.push_back(i);
    if (check_every <= 0) continue;
    // By content, so that the same run looks twice at the same candidates.
    const uint64_t draw = Fingerprinter()
                              .AddInt(candidates[i].kernel->fingerprint)
                              .AddText(candidates[i].config.Key())
                              .Get();
    items_[i].to_check = draw % static_cast<uint64_t>(check_every) == 0;
  }
}

bool FleetQueue::Suits(const Item& item, const std::string& host, size_t hosts) const {
  if (item.checking) return host != item.first_host;
  return item.failed_on.size() >= hosts || item.failed_on.count(host) == 0;
}

std::vector<size_t> FleetQueue::Take(const std::string& host, int most, size_t hosts) {
  std::vector<size_t> taken;
  for (auto at = waiting_.begin(); at != waiting_.end() && static_cast<int>(taken.size()) < most;) {
    const Item& item = items_[*at];
    const bool alone = item.lost > 0;
    if (!Suits(item, host, hosts) || (alone && !taken.empty())) {
      ++at;
      continue;
    }
    if (item.checking) ++checks_under_way_;
    taken.push_back(*at);
    at = waiting_.erase(at);
    if (alone) break;
  }
  return taken;
}

void FleetQueue::Lost(absl::Span<const size_t> positions, const std::string& host, int attempts,
                      const Failure& failure) {
  for (const size_t position : positions) {
    Item& item = items_[position];
    if (item.checking) {  // the first result stands
      --checks_under_way_;
      item.checking = false;
      finished_.push_back(position);
      continue;
    }
    item.failed_on.insert(host);
    // Of several candidates in one request only one can be the cause: the others' attempts are not
    // theirs to lose.
    ++item.lost;
    if (item.lost < attempts || positions.size() > 1) {
      waiting_.push_back(position);
      continue;
    }
    item.result = Measurement::FromFailure(
        failure.kind,
        absl::StrCat(item.lost, " workers were lost over it, the last one: ", failure.message));
    --unanswered_;
    finished_.push_back(position);
  }
}

void FleetQueue::GiveBack(absl::Span<const size_t> positions) {
  for (size_t i = positions.size(); i-- > 0;) {
    if (items_[positions[i]].checking) --checks_under_way_;
    waiting_.push_front(positions[i]);
  }
}

std::optional<double> FleetQueue::Answered(size_t position, const std::string& host,
                                           Measurement result) {
  Item& item = items_[position];
  if (item.checking) {
    --checks_under_way_;
    item.checking = false;
    finished_.push_back(position);
    if (!item.result->ok() || !result.ok()) return std::nullopt;
    return std::abs(std::log(result.MedianSeconds() / item.result->MedianSeconds()));
  }
  item.result = std::move(result);
  item.first_host = host;
  --unanswered_;
  if (item.to_check && item.result->ok()) {
    item.checking = true;
    waiting_.push_back(position);
  } else {
    finished_.push_back(position);
  }
  return std::nullopt;
}

void FleetQueue::Remark(size_t position, const std::string& remark) {
  std::string& method = items_[position].result->method;
  absl::StrAppend(&method, method.empty() ? "" : "; ", remark);
}

std::vector<size_t> FleetQueue::TakeFinished(size_t hosts) {
  if (hosts < 2) {
    std::erase_if(waiting_, [this](size_t position) {
      if (!items_[position].checking) return false;
      items_[position].checking = false;
      finished_.push_back(position);
      return true;
    });
  }
  return std::exchange(finished_, {});
}

bool FleetQueue::Done(size_t hosts) const {
  if (unanswered_ > 0 || checks_under_way_ > 0) return false;
  return waiting_.empty() || hosts < 2;
}

std::vector<Measurement> FleetQueue::TakeResults() {
  std::vector<Measurement> results;
  results.reserve(items_.size());
  for (Item& item : items_) results.push_back(*std::move(item.result));
  return results;
}

}  // namespace autotune
