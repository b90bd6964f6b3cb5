#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/text_parser.h"
#include "hlo/tile_assignment.h"

namespace autotune {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 20;

int64_t DeviceCount(const proto::MeshProto& mesh) {
  int64_t count = 1;
  for (const proto::MeshProto::MeshAxis& axis : mesh.axes()) {
    if (__builtin_mul_overflow(count, axis.size(), &count) || count > kMaxDevices) return -1;
  }
  return count;
}

// The part of a mesh axis that a reference takes: from `pre_size` devices apart to `end` devices.
struct AxisPart {
  int64_t index, pre_size, end;
};

AxisPart PartOf(const proto::AxisRefProto& axis, const proto::MeshProto& mesh) {
  const int64_t index = axis.mesh_axis_index();
  if (!axis.has_sub_axis_info()) return {index, 1, mesh.axes(static_cast<int>(index)).size()};
  const auto& sub = axis.sub_axis_info();
  return {index, sub.pre_size(), sub.pre_size() * sub.size()};
}

// What is wrong with two parts of the same axis in one sharding, or null.
const char* ProblemOf(const AxisPart& a, const AxisPart& b) {
  // An axis of one device is the whole of it.
  const bool overlap = a.pre_size == b.pre_size || (a.pre_size < b.end && b.pre_size < a.end);
  if (overlap) return "a part of a mesh axis is used twice";
  const bool fit = std::max(a.pre_size, b.pre_size) % std::min(a.end, b.end) == 0;
  return fit ? nullptr : "two parts of a mesh axis do not fit together";
}

// Adds the axes of one list to those that the sharding has taken; returns what is wrong, or null.
const char* TakeAxes(const google::protobuf::RepeatedPtrField<proto::AxisRefProto>& axes,
                     const proto::MeshProto& mesh, bool sorted, std::vector<AxisPart>* taken) {
  const size_t first = taken->size();
  for (const proto::AxisRefProto& axis : axes) {
    const AxisPart part = PartOf(axis, mesh);
    for (const AxisPart& other : *taken) {
      const char* problem = other.index == part.index ? ProblemOf(part, other) : nullptr;
      if (problem != nullptr) return problem;
    }
    if (taken->size() > first) {
      const AxisPart& before = taken->back();
      if (before.index == part.index && before.end == part.pre_size) {
        return "parts of a mesh axis that continue each other have to be written as one";
      }
      const bool in_order =
          std::pair(before.index, before.pre_size) < std::pair(part.index, part.pre_size);
      if (sorted && !in_order) return "these axes have to be in the order of the mesh";
    }
    taken->push_back(part);
  }
  return nullptr;
}

const char* ProblemOf(const proto::NamedShardingProto& named) {
  std::vector<AxisPart> taken;
  for (const auto& dimension : named.dim_shardings()) {
    const char* problem = TakeAxes(dimension.axes(), named.mesh(), /*sorted=*/false, &taken);
    if (problem != nullptr) return problem;
  }
  for (const auto* axes :
       {&named.replicated_axes(), &named.unreduced_axes(), &named.manual_axes()}) {
    const char* problem = TakeAxes(*axes, named.mesh(), /*sorted=*/true, &taken);
    if (problem != nullptr) return problem;
  }
  return nullptr;
}

}  // namespace

// `mesh["a"=2,"b"=4]`, perhaps with `, device_ids=(...)` behind it, or `maximal_mesh[device_id=3]`.
bool TextParser::Mesh(proto::MeshProto* mesh) {
  if (AtIdentifier("maximal_mesh")) {
    lexer_.Next();
    int64_t device;
    if (!Expect(Token::kLeftBracket, "after maximal_mesh")) return false;
    if (lexer_.kind() != Token::kAttributeName || lexer_.text() != "device_id") {
      return Expected("device_id=");
    }
    lexer_.Next();
    if (!Int64(&device) || !Expect(Token::kRightBracket, "to end a maximal mesh")) return false;
    mesh->add_device_ids(device);
    return true;
  }
  if (!AtIdentifier("mesh")) return Expected("mesh or maximal_mesh");
  lexer_.Next();
  const size_t offset = lexer_.offset();
  if (!List(Token::kLeftBracket, Token::kRightBracket, Token::kComma, "the axes of a mesh", [&] {
        const size_t axis_offset = lexer_.offset();
        absl::string_view name;
        int64_t size;
        if (!String(&name) || !Expect(Token::kEqual, "after the name of an axis") ||
            !Int64(&size)) {
          return false;
        }
        if (size <= 0) return Fail(axis_offset, "the size of an axis must be positive");
        for (const proto::MeshProto::MeshAxis& other : mesh->axes()) {
          if (other.name() == name) return Fail(axis_offset, "this axis appears twice");
        }
        proto::MeshProto::MeshAxis* axis = mesh->add_axes();
        axis->set_name(std::string(name));
        axis->set_size(size);
        return true;
      })) {
    return false;
  }
  if (DeviceCount(*mesh) < 0) return Fail(offset, "the mesh has too many devices");
  return true;
}

bool TextParser::MeshDeviceIds(proto::MeshProto* mesh) {
  const size_t offset = lexer_.offset();
  if (!Expect(Token::kLeftParen, "to begin device_ids")) return false;
  std::vector<int64_t> devices;
  if (lexer_.kind() == Token::kLeftBracket) {
    // A reshaped and transposed range; the protobuf lists its devices.
    Int64s reshape, transpose;
    if (!List(Token::kLeftBracket, Token::kRightBracket, Token::kComma, "the range of devices",
              [&] {
                int64_t value;
                if (!Int64(&value)) return false;
                reshape.push_back(value);
                return true;
              })) {
      return false;
    }
    if (reshape.empty()) return FailHere("the range of devices has no dimensions");
    if (reshape.size() > 1 && !IotaTranspose(reshape.size(), &transpose)) return false;
    TileAssignment range;
    range.reshape.assign(reshape.begin(), reshape.end());
    range.permutation.assign(transpose.begin(), transpose.end());
    range.Canonicalize();
    // A range in its own order is what a mesh has without device_ids.
    if (range.reshape.size() > 1) {
      proto::MeshProto::IotaTransform* iota = mesh->mutable_iota_transform();
      iota->mutable_reshape_dims()->Add(range.reshape.begin(), range.reshape.end());
      iota->mutable_transpose_perm()->Add(range.permutation.begin(), range.permutation.end());
    }
  } else {
    do {
      int64_t device;
      if (!Int64(&device)) return false;
      devices.push_back(device);
    } while (Eat(Token::kComma));
    if (static_cast<int64_t>(devices.size()) != DeviceCount(*mesh)) {
      return Fail(offset, absl::StrCat("the mesh has ", DeviceCount(*mesh), " devices, but ",
                                       devices.size(), " are listed"));
    }
    std::vector<bool> seen(devices.size(), false);
    for (const int64_t device : devices) {
      if (device < 0 || device >= static_cast<int64_t>(devices.size()) ||
          seen[static_cast<size_t>(device)]) {
        return Fail(offset, "device_ids is no permutation of the mesh's devices");
      }
      seen[static_cast<size_t>(device)] = true;
    }
    mesh->mutable_device_ids()->Add(devices.begin(), devices.end());
  }
  return Expect(Token::kRightParen, "to end device_ids");
}

bool TextParser::AxisRef(const proto::MeshProto& mesh, proto::AxisRefProto* axis) {
  const size_t offset = lexer_.offset();
  absl::string_view name;
  if (!String(&name)) return false;
  int index = -1;
  for (int i = 0; i < mesh.axes_size(); ++i) {
    if (mesh.axes(i).name() == name) index = i;
  }
  if (index < 0) return Fail(offset, absl::StrCat("the mesh has no axis \"", name, "\""));
  axis->set_mesh_axis_index(index);
  if (!Eat(Token::kColon)) return true;
  int64_t pre_size;
  int64_t size;
  if (!Expect(Token::kLeftParen, "before the pre-size of a sub-axis") || !Int64(&pre_size) ||
      !Expect(Token::kRightParen, "after the pre-size of a sub-axis") || !Int64(&size)) {
    return false;
  }
  const int64_t axis_size = mesh.axes(index).size();
  int64_t next;
  if (pre_size <= 0 || size <= 1 || __builtin_mul_overflow(pre_size, size, &next) ||
      axis_size % next != 0 || size >= axis_size) {
    return Fail(offset, absl::StrCat("this is no part of an axis of size ", axis_size));
  }
  axis->mutable_sub_axis_info()->set_pre_size(pre_size);
  axis->mutable_sub_axis_info()->set_size(size);
  return true;
}

bool TextParser::AxisRefs(const proto::MeshProto& mesh,
                          google::protobuf::RepeatedPtrField<proto::AxisRefProto>* axes) {
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "axes",
              [&] { return AxisRef(mesh, axes->Add()); });
}

// What stands behind the `{` of a sharding by mesh axes, up to its `}`.
bool TextParser::NamedSharding(proto::OpSharding* sharding) {
  proto::NamedShardingProto* named = sharding->mutable_named_sharding();
  proto::MeshProto* mesh = named->mutable_mesh();
  const size_t offset = lexer_.offset();
  if (!Mesh(mesh)) return false;
  const bool one_device = mesh->axes().empty() && !mesh->device_ids().empty();
  if (one_device) return NamedShardingEnd(named);
  // The comma between the mesh and what follows may lack.
  if (Eat(Token::kComma) && !mesh->axes().empty() && lexer_.kind() == Token::kAttributeName &&
      lexer_.text() == "device_ids") {
    lexer_.Next();
    if (!MeshDeviceIds(mesh)) return false;
    Eat(Token::kComma);
  }
  if (lexer_.kind() != Token::kLeftBracket) return WholeNamedSharding(named);
  if (!DimShardings(named)) return false;
  while (lexer_.kind() != Token::kRightBrace) {
    if (!Expect(Token::kComma, "or '}' in a sharding") || !NamedShardingPart(named)) return false;
  }
  if (const char* problem = ProblemOf(*named); problem != nullptr) return Fail(offset, problem);
  lexer_.Next();
  return true;
}

// One word for all axes of the mesh.
bool TextParser::WholeNamedSharding(proto::NamedShardingProto* named) {
  const int axes = named->mesh().axes_size();
  const auto take_all = [axes](google::protobuf::RepeatedPtrField<proto::AxisRefProto>* to) {
    for (int i = 0; i < axes; ++i) to->Add()->set_mesh_axis_index(i);
  };
  if (EatKeyword(Keyword::kManual)) {
    take_all(named->mutable_manual_axes());
  } else if (EatKeyword(Keyword::kUnreduced)) {
    take_all(named->mutable_unreduced_axes());
  } else if (!EatKeyword(Keyword::kReplicated)) {
    return Expected("how the dimensions are sharded: '[', replicated, manual or unreduced");
  }
  return NamedShardingEnd(named);
}

// `, metadata=...` or nothing, and the `}`.
bool TextParser::NamedShardingEnd(proto::NamedShardingProto* named) {
  if (Eat(Token::kComma)) {
    if (lexer_.kind() != Token::kAttributeName || lexer_.text() != "metadata") {
      return Expected("metadata=");
    }
    lexer_.Next();
    if (!ShardingMetadata(named->mutable_metadata())) return false;
  }
  return Expect(Token::kRightBrace, "to end a sharding");
}

bool TextParser::NamedShardingPart(proto::NamedShardingProto* named) {
  const proto::MeshProto& mesh = named->mesh();
  if (lexer_.kind() != Token::kAttributeName) return Expected("a part of a sharding");
  const absl::string_view name = lexer_.text();
  const size_t offset = lexer_.offset();
  lexer_.Next();
  if (name == "replicated") return AxisRefs(mesh, named->mutable_replicated_axes());
  if (name == "unreduced") return AxisRefs(mesh, named->mutable_unreduced_axes());
  if (name == "manual") return AxisRefs(mesh, named->mutable_manual_axes());
  if (name == "metadata") return ShardingMetadata(named->mutable_metadata());
  return Fail(offset, absl::StrCat("a sharding has no part \"", name, "\""));
}

bool TextParser::DimShardings(proto::NamedShardingProto* named) {
  return List(Token::kLeftBracket, Token::kRightBracket, Token::kComma, "dimension shardings", [&] {
    proto::NamedShardingProto::DimensionSharding* dimension = named->add_dim_shardings();
    bool closed = true;
    if (!List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "axes", [&] {
          if (!closed) return Expected("'}' after '?'");
          if (Eat(Token::kQuestion)) {
            closed = false;
            return true;
          }
          return AxisRef(named->mesh(), dimension->add_axes());
        })) {
      return false;
    }
    dimension->set_is_closed(closed);
    return true;
  });
}

bool TextParser::MeshReplicaGroups(proto::MeshAxesReplicaGroupListProto* list) {
  const size_t offset = lexer_.offset();
  if (!Mesh(list->mutable_mesh())) return false;
  // The comma may lack, but not before device_ids, behind which there is none.
  if (Eat(Token::kComma) && lexer_.kind() == Token::kAttributeName &&
      lexer_.text() == "device_ids") {
    lexer_.Next();
    if (!MeshDeviceIds(list->mutable_mesh())) return false;
  }
  if (!AxisRefs(list->mesh(), list->mutable_axes())) return false;
  std::vector<AxisPart> taken;
  const char* problem = TakeAxes(list->axes(), list->mesh(), /*sorted=*/false, &taken);
  if (problem != nullptr) return Fail(offset, problem);
  const bool grouped = std::any_of(taken.begin(), taken.end(),
                                   [](const AxisPart& part) { return part.end > part.pre_size; });
  return grouped || Fail(offset, "a group of a mesh has more than one device");
}

bool TextParser::ReplicaGroups(Pending* p) {
  P* attributes = AttributesOf(p);
  if (AtIdentifier("mesh") || AtIdentifier("maximal_mesh")) {
    return MeshReplicaGroups(attributes->mutable_mesh_axes_replica_group_list());
  }
  if (lexer_.kind() == Token::kLeftBrace) {
    proto::CollectiveDeviceListProto* list = attributes->mutable_collective_device_list();
    return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "replica groups",
                [&] { return BracedInt64s(list->add_replica_groups()->mutable_replica_ids()); });
  }
  const size_t offset = lexer_.offset();
  Int64s dimensions, reshape, transpose;
  if (!List(Token::kLeftBracket, Token::kRightBracket, Token::kComma, "replica groups", [&] {
        int64_t value;
        if (!Int64(&value)) return false;
        dimensions.push_back(value);
        return true;
      })) {
    return false;
  }
  if (dimensions.size() != 2) {
    return Fail(offset, "replica groups as a range have two dimensions: groups and members");
  }
  if (!IotaTail(&reshape, &transpose)) return false;
  auto* list = attributes->mutable_iota_collective_device_list();
  list->set_num_replica_groups(dimensions[0]);
  list->set_num_devices_per_group(dimensions[1]);
  TileAssignment tiles;
  tiles.reshape.assign(reshape.begin(), reshape.end());
  tiles.permutation.assign(transpose.begin(), transpose.end());
  tiles.Canonicalize();
  list->mutable_iota_reshape_dims()->Add(tiles.reshape.begin(), tiles.reshape.end());
  for (const int64_t d : tiles.permutation) list->add_iota_transpose_perm(static_cast<int>(d));
  return true;
}

bool TextParser::SourceTargetPairs(Pending* p) {
  P* attributes = AttributesOf(p);
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "source and target pairs", [&] {
    const size_t offset = lexer_.offset();
    Int64s pair;
    if (!BracedInt64s(&pair)) return false;
    if (pair.size() != 2) return Fail(offset, "expected a pair {source,target}");
    proto::SourceTarget* target = attributes->add_source_target_pairs();
    target->set_source(pair[0]);
    target->set_target(pair[1]);
    return true;
  });
}

}  // namespace autotune
