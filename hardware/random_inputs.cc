// Values for a program's parameters (hardware/host_array.h).

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hardware/host_array.h"
#include "hlo/float_format.h"
#include "hlo/opcode.h"

namespace autotune {
namespace {

// Values of a long array before they repeat; odd, so that rows of a power of two differ.
constexpr int64_t kBlock = (int64_t{1} << 18) + 1;

// Integers that index nothing are below this.
constexpr int64_t kSmallIntegers = 8;

// The generator of Steele, Lea and Flood 2014 (SplitMix64).
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform in [-1, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-52 - 1; }

 private:
  uint64_t state_;
};

template <typename T>
void Append(std::string* bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes->append(raw, sizeof(T));
}

void AppendInteger(std::string* bytes, ElementType type, int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  char raw[sizeof(bits)];
  std::memcpy(raw, &bits, sizeof(bits));
  bytes->append(raw, static_cast<size_t>(ByteWidth(type)));
}

// Appends one random element; integers are below `limit`.
void AppendRandom(std::string* bytes, ElementType type, int64_t limit, SplitMix64* random) {
  switch (type) {
    case proto::C64:
      Append(bytes, static_cast<float>(random->Unit()));
      [[fallthrough]];
    case proto::F32:
      Append(bytes, static_cast<float>(random->Unit()));
      return;
    case proto::C128:
      Append(bytes, random->Unit());
      [[fallthrough]];
    case proto::F64:
      Append(bytes, random->Unit());
      return;
    case proto::PRED:
      bytes->push_back(static_cast<char>(random->Next() & 1));
      return;
    default:
      break;
  }
  if (const auto format = FloatFormatOf(type)) {
    const double value = random->Unit();
    AppendInteger(bytes, type, EncodeFloat(*format, format->has_sign ? value : value + 1.5));
    return;
  }
  AppendInteger(
      bytes, type,
      static_cast<int64_t>(random->Next() % static_cast<uint64_t>(std::max<int64_t>(1, limit))));
}

HostArray MakeArray(const Shape& shape, int64_t limit, SplitMix64* random) {
  HostArray array;
  array.type = shape.element_type();
  array.dimensions.assign(shape.dimensions().begin(), shape.dimensions().end());
  if (limit <= 0) limit = kSmallIntegers;
  if (IsIntegral(array.type)) {
    const int value_bits = BitWidth(array.type) - (IsSignedIntegral(array.type) ? 1 : 0);
    if (value_bits < 62) limit = std::min(limit, int64_t{1} << value_bits);
  }
  const int64_t elements = shape.ElementsIn();
  const int64_t distinct = std::min(elements, kBlock);
  const auto width = static_cast<size_t>(ByteWidth(array.type));
  const size_t size = static_cast<size_t>(elements) * width;
  array.bytes.reserve(size + width);
  for (int64_t i = 0; i < distinct; ++i) AppendRandom(&array.bytes, array.type, limit, random);
  const size_t block = array.bytes.size();
  array.bytes.resize(size);
  for (size_t at = block; at < size; at += block) {
    std::memcpy(&array.bytes[at], array.bytes.data(), std::min(block, size - at));
  }
  return array;
}

// Follows a value to where it serves as an index.
class IndexTracer {
 public:
  // The smallest number of values that any such place allows; 0 if there is none.
  int64_t Trace(const HloInstruction& value) {
    std::vector<const HloInstruction*> open = {&value};
    while (!open.empty()) {
      const HloInstruction* next = open.back();
      open.pop_back();
      if (!seen_.insert(next).second) continue;
      for (const HloInstruction* user : next->users()) {
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (&user->operand(i) == next) Visit(*user, i, &open);
        }
      }
      // The result of a called computation is the caller's.
      if (next->IsRoot()) {
        for (const HloInstruction* caller : next->parent().callers()) open.push_back(caller);
      }
    }
    return limit_;
  }

 private:
  void Limit(int64_t extent, int64_t window) {
    const int64_t values = std::max<int64_t>(1, extent - window + 1);
    limit_ = limit_ == 0 ? values : std::min(limit_, values);
  }

  void Visit(const HloInstruction& user, int64_t operand,
             std::vector<const HloInstruction*>* open) {
    switch (user.opcode()) {
      case HloOpcode::kGather:
        if (operand == 1) {
          LimitGather(user);
        } else {
          open->push_back(&user);
        }
        return;
      case HloOpcode::kScatter:
        if (operand == (user.operand_count() - 1) / 2) LimitScatter(user);
        return;
      case HloOpcode::kDynamicSlice:
        if (operand == 0) {
          open->push_back(&user);
        } else {
          Limit(user.operand(0).shape().dimensions(operand - 1),
                user.shape().dimensions(operand - 1));
        }
        return;
      case HloOpcode::kDynamicUpdateSlice:
        if (operand < 2) {
          open->push_back(&user);
        } else {
          Limit(user.shape().dimensions(operand - 2),
                user.operand(1).shape().dimensions(operand - 2));
        }
        return;
      case HloOpcode::kFusion:
      case HloOpcode::kCall:
        EnterCallee(user, operand, open);
        return;
      case HloOpcode::kWhile:
      case HloOpcode::kConditional:
        for (const HloComputation* callee : user.called_computations()) {
          for (const HloInstruction* parameter : callee->parameters()) open->push_back(parameter);
        }
        open->push_back(&user);
        return;
      default:
        if (Carries(user)) open->push_back(&user);
    }
  }

  // Operations whose result is an index if an operand is one.
  static bool Carries(const HloInstruction& user) {
    if (!user.shape().IsTuple() && !IsIntegral(user.shape().element_type())) return false;
    switch (user.opcode()) {
      case HloOpcode::kReshape:
      case HloOpcode::kBitcast:
      case HloOpcode::kBroadcast:
      case HloOpcode::kTranspose:
      case HloOpcode::kSlice:
      case HloOpcode::kConcatenate:
      case HloOpcode::kReverse:
      case HloOpcode::kPad:
      case HloOpcode::kTuple:
      case HloOpcode::kGetTupleElement:
      case HloOpcode::kOptBarrier:
      case HloOpcode::kReduce:
        return true;
      default:
        return IsElementwise(user.opcode());
    }
  }

  static void EnterCallee(const HloInstruction& call, int64_t operand,
                          std::vector<const HloInstruction*>* open) {
    for (const HloComputation* callee : call.called_computations()) {
      if (operand < static_cast<int64_t>(callee->parameters().size())) {
        open->push_back(callee->parameters()[static_cast<size_t>(operand)]);
      }
    }
  }

  void LimitGather(const HloInstruction& gather) {
    const auto& numbers = gather.attributes().gather_dimension_numbers();
    const auto& sizes = gather.attributes().gather_slice_sizes();
    for (int64_t dimension : numbers.start_index_map()) {
      if (dimension >= sizes.size() || dimension >= gather.operand(0).shape().rank()) continue;
      Limit(gather.operand(0).shape().dimensions(dimension), sizes[static_cast<int>(dimension)]);
    }
  }

  void LimitScatter(const HloInstruction& scatter) {
    const auto& numbers = scatter.attributes().scatter_dimension_numbers();
    const Shape& target = scatter.operand(0).shape();
    const Shape& updates = scatter.operand(scatter.operand_count() - 1).shape();
    std::vector<int64_t> windows(static_cast<size_t>(target.rank()), 1);
    const auto has = [](const auto& list, int64_t dimension) {
      return std::find(list.begin(), list.end(), dimension) != list.end();
    };
    int next = 0;
    for (int64_t d = 0; d < target.rank(); ++d) {
      if (has(numbers.inserted_window_dims(), d) || has(numbers.input_batching_dims(), d)) continue;
      if (next < numbers.update_window_dims_size()) {
        windows[static_cast<size_t>(d)] = updates.dimensions(numbers.update_window_dims(next++));
      }
    }
    for (int64_t dimension : numbers.scatter_dims_to_operand_dims()) {
      if (dimension >= target.rank()) continue;
      Limit(target.dimensions(dimension), windows[static_cast<size_t>(dimension)]);
    }
  }

  absl::flat_hash_set<const HloInstruction*> seen_;
  int64_t limit_ = 0;
};

}  // namespace

HostArray ZeroArray(const Shape& shape) {
  HostArray array;
  array.type = shape.element_type();
  array.dimensions.assign(shape.dimensions().begin(), shape.dimensions().end());
  array.bytes.assign(static_cast<size_t>(shape.ElementsIn() * ByteWidth(array.type)), '\0');
  return array;
}

HostArray RandomArray(const Shape& shape, int64_t limit, uint64_t seed) {
  SplitMix64 random(seed);
  return MakeArray(shape, limit, &random);
}

std::vector<int64_t> IndexLimits(const HloModule& program) {
  std::vector<int64_t> limits;
  for (const HloInstruction* parameter : program.entry_computation().parameters()) {
    const bool integral = IsIntegral(parameter->shape().element_type());
    limits.push_back(integral ? IndexTracer().Trace(*parameter) : 0);
  }
  return limits;
}

absl::StatusOr<std::vector<HostArray>> RandomInputs(const HloModule& program, uint64_t seed) {
  const std::vector<int64_t> limits = IndexLimits(program);
  std::vector<HostArray> inputs;
  SplitMix64 random(seed);
  for (const HloInstruction* parameter : program.entry_computation().parameters()) {
    const Shape& shape = parameter->shape();
    if (!shape.IsArray() || shape.HasDynamicDimension()) {
      return absl::UnimplementedError(absl::StrCat("no input can be made for the parameter ",
                                                   std::string(parameter->name()), ": ",
                                                   shape.ToString(/*with_layout=*/false)));
    }
    inputs.push_back(MakeArray(shape, limits[inputs.size()], &random));
  }
  return inputs;
}

}  // namespace autotune
