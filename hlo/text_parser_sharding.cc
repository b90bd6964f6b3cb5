#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/text_parser.h"
#include "hlo/tile_assignment.h"

namespace autotune {
namespace {

using Sharding = proto::OpSharding;

// Device lists are written out by some canonical forms: a limit on their length.
constexpr int64_t kMaxDevices = int64_t{1} << 20;

bool ProductOf(absl::Span<const int64_t> values, int64_t* product) {
  *product = 1;
  for (const int64_t value : values) {
    if (value <= 0 || __builtin_mul_overflow(*product, value, product)) return false;
  }
  return true;
}

void AssignmentToProto(const TileAssignment& tiles, Sharding* sharding) {
  sharding->set_type(Sharding::OTHER);
  const auto add = [](const std::vector<int64_t>& from, auto* to) {
    for (const int64_t value : from) to->Add(static_cast<int>(value));
  };
  sharding->mutable_tile_assignment_dimensions()->Add(tiles.dimensions.begin(),
                                                      tiles.dimensions.end());
  sharding->mutable_tile_assignment_devices()->Add(tiles.devices.begin(), tiles.devices.end());
  sharding->mutable_iota_reshape_dims()->Add(tiles.reshape.begin(), tiles.reshape.end());
  add(tiles.permutation, sharding->mutable_iota_transpose_perm());
}

// Replication over the last dimension: nothing is left of it if it is trivial, and listed groups
// are sorted, since their order says nothing.
void PartialTile(TileAssignment tiles, Sharding* sharding) {
  const int64_t last = tiles.dimensions.back();
  if (tiles.dimensions.size() == 1 || last == tiles.size()) {
    sharding->set_type(Sharding::REPLICATED);
    return;
  }
  if (last == 1) {
    tiles.dimensions.pop_back();
    AssignmentToProto(tiles, sharding);
    return;
  }
  for (auto it = tiles.devices.begin(); it != tiles.devices.end(); it += last) {
    std::sort(it, it + last);
  }
  AssignmentToProto(tiles, sharding);
  sharding->set_replicate_on_last_tile_dim(true);
}

// Replicated groups last, the others by number.
bool TypeLess(Sharding::Type a, Sharding::Type b) {
  const bool a_last = a == Sharding::REPLICATED;
  const bool b_last = b == Sharding::REPLICATED;
  return a_last != b_last ? b_last : a < b;
}

// Merges the last dimensions that have the same type and puts the types in order.
void MergeTypes(TileAssignment* tiles, std::vector<Sharding::Type>* types) {
  const size_t data = tiles->dimensions.size() - types->size();
  bool needed = false;
  std::vector<Sharding::Type> merged;
  for (size_t i = 0; i < types->size(); ++i) {
    const bool known = std::find(merged.begin(), merged.end(), (*types)[i]) != merged.end();
    if (known || tiles->dimensions[data + i] == 1) {
      needed = true;
    } else {
      merged.push_back((*types)[i]);
    }
  }
  if (!needed && merged.size() <= 1) return;
  std::sort(merged.begin(), merged.end(), TypeLess);
  std::vector<int64_t> order;
  std::vector<int64_t> shape;
  for (size_t i = 0; i < data; ++i) {
    order.push_back(static_cast<int64_t>(i));
    shape.push_back(tiles->dimensions[i]);
  }
  for (const Sharding::Type type : merged) {
    int64_t size = 1;
    for (size_t i = 0; i < types->size(); ++i) {
      if ((*types)[i] != type || tiles->dimensions[data + i] == 1) continue;
      order.push_back(static_cast<int64_t>(data + i));
      size *= tiles->dimensions[data + i];
    }
    shape.push_back(size);
  }
  for (size_t i = 0; i < types->size(); ++i) {
    if (tiles->dimensions[data + i] == 1) order.push_back(static_cast<int64_t>(data + i));
  }
  tiles->Transpose(order);
  tiles->dimensions = std::move(shape);
  *types = std::move(merged);
}

void Subgroups(TileAssignment tiles, std::vector<Sharding::Type> types, Sharding* sharding) {
  const auto data =
      absl::MakeConstSpan(tiles.dimensions).first(tiles.dimensions.size() - types.size());
  int64_t data_tiles;
  const bool uniform = std::all_of(types.begin(), types.end(),
                                   [&](Sharding::Type type) { return type == types[0]; });
  if (uniform && ProductOf(data, &data_tiles) && data_tiles == 1 && types[0] != Sharding::MAXIMAL) {
    sharding->set_type(types[0]);
    return;
  }
  MergeTypes(&tiles, &types);
  if (types.size() == 1 && types[0] == Sharding::REPLICATED) {
    return PartialTile(std::move(tiles), sharding);
  }
  if (types.size() == 1 && tiles.size() == tiles.dimensions.back() &&
      types[0] == Sharding::MANUAL) {
    sharding->set_type(Sharding::MANUAL);
    return;
  }
  if (!types.empty() && types.back() == Sharding::REPLICATED) {
    PartialTile(std::move(tiles), sharding);
    sharding->set_replicate_on_last_tile_dim(false);
  } else {
    AssignmentToProto(tiles, sharding);
  }
  for (const Sharding::Type type : types) sharding->add_last_tile_dims(type);
}

}  // namespace

// What stands between the braces of a sharding.
struct TextParser::ShardingParts {
  bool has_type = false;
  bool maximal = false;
  bool replicated = false;
  bool manual = false;
  bool unknown = false;
  bool unreduced = false;
  bool last_tile_dim_replicate = false;
  bool has_group = false;
  Sharding::ShardGroupType group_type = Sharding::AS;
  int64_t group = 0;
  std::vector<int64_t> devices;
  TileAssignment tiles;
  google::protobuf::RepeatedField<int> types;
  google::protobuf::RepeatedPtrField<proto::OpMetadata> metadata;
};

bool TextParser::ShardingAttribute(Pending* p) {
  proto::OpSharding* sharding = AttributesOf(p)->mutable_sharding();
  if (!Sharding(sharding)) return false;
  if (p->f->shape == nullptr) return true;
  const Shape& shape = *p->f->shape;
  if (!shape.IsTuple() || sharding->type() == proto::OpSharding::TUPLE) return true;
  // One sharding for a tuple holds for each of its leaves.
  proto::OpSharding tuple;
  tuple.set_type(proto::OpSharding::TUPLE);
  const int64_t leaves = std::max<int64_t>(shape.LeafCount(), 1);
  for (int64_t i = 0; i < leaves; ++i) *tuple.add_tuple_shardings() = *sharding;
  *sharding = tuple;
  return true;
}

bool TextParser::Sharding(proto::OpSharding* sharding) {
  if (lexer_.kind() != Token::kLeftBrace) return Expected("'{' to begin a sharding");
  const Token next = lexer_.Peek();
  if (next != Token::kLeftBrace && next != Token::kRightBrace) return SingleSharding(sharding);
  sharding->set_type(proto::OpSharding::TUPLE);
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "a sharding",
              [&] { return SingleSharding(sharding->add_tuple_shardings()); });
}

bool TextParser::SingleSharding(proto::OpSharding* sharding) {
  if (!Expect(Token::kLeftBrace, "to begin a sharding")) return false;
  if (AtIdentifier("mesh") || AtIdentifier("maximal_mesh")) return NamedSharding(sharding);
  const size_t offset = lexer_.offset();
  ShardingParts parts;
  while (lexer_.kind() != Token::kRightBrace) {
    if (!ShardingItem(&parts)) return false;
  }
  if (!BuildSharding(offset, &parts, sharding)) return false;
  *sharding->mutable_metadata() = parts.metadata;
  if (parts.has_group) {
    sharding->set_is_shard_group(true);
    sharding->set_shard_group_id(parts.group);
    sharding->set_shard_group_type(parts.group_type);
  }
  lexer_.Next();
  return true;
}

bool TextParser::ShardingItem(ShardingParts* parts) {
  if (lexer_.kind() == Token::kAttributeName) {
    const absl::string_view name = lexer_.text();
    if (name == "device") {
      lexer_.Next();
      parts->devices.assign(1, 0);
      return Int64(&parts->devices[0]);
    }
    if (name == "devices") {
      lexer_.Next();
      return DevicesAttribute(parts);
    }
    if (name == "metadata") {
      lexer_.Next();
      return ShardingMetadata(&parts->metadata);
    }
    if (name == "last_tile_dims") {
      lexer_.Next();
      return ShardingTypes(&parts->types);
    }
    return Expected("device=, devices=, metadata= or last_tile_dims=");
  }
  if (lexer_.kind() != Token::kKeyword) return Expected("a sharding");
  const Keyword keyword = lexer_.keyword();
  switch (keyword) {
    case Keyword::kMaximal:
      parts->maximal = true;
      break;
    case Keyword::kReplicated:
      parts->replicated = true;
      break;
    case Keyword::kManual:
      parts->manual = true;
      break;
    case Keyword::kUnknown:
      parts->unknown = true;
      break;
    case Keyword::kUnreduced:
      parts->unreduced = true;
      break;
    case Keyword::kLastTileDimReplicate:
      parts->last_tile_dim_replicate = true;
      break;
    case Keyword::kShardAs:
    case Keyword::kShardLike:
      lexer_.Next();
      parts->has_group = true;
      parts->group_type =
          keyword == Keyword::kShardAs ? proto::OpSharding::AS : proto::OpSharding::LIKE;
      return Int64(&parts->group);
    default:
      return Expected("a sharding");
  }
  lexer_.Next();
  return true;
}

bool TextParser::BuildSharding(size_t offset, ShardingParts* parts, proto::OpSharding* sharding) {
  const std::pair<bool, proto::OpSharding::Type> simple[] = {
      {parts->replicated, proto::OpSharding::REPLICATED},
      {parts->maximal, proto::OpSharding::MAXIMAL},
      {parts->manual, proto::OpSharding::MANUAL},
      {parts->unknown, proto::OpSharding::UNKNOWN},
      {parts->unreduced, proto::OpSharding::UNREDUCED}};
  for (const auto& [given, type] : simple) {
    if (!given) continue;
    sharding->set_type(type);
    if (type == proto::OpSharding::MAXIMAL) {
      if (parts->devices.size() != 1) return Fail(offset, "a maximal sharding has one device");
      sharding->add_tile_assignment_devices(parts->devices[0]);
    } else if (!parts->devices.empty()) {
      return Fail(offset, "only maximal and tiled shardings have devices");
    }
    return true;
  }
  return BuildTiled(offset, parts, sharding);
}

bool TextParser::BuildTiled(size_t offset, ShardingParts* parts, proto::OpSharding* sharding) {
  TileAssignment& tiles = parts->tiles;
  if (tiles.dimensions.empty()) return Fail(offset, "a tiled sharding needs devices=[...]");
  int64_t size;
  if (!ProductOf(tiles.dimensions, &size) || size > kMaxDevices) {
    return Fail(offset, "the tile dimensions of a sharding must be positive and not too many");
  }
  std::vector<proto::OpSharding::Type> types;
  for (const int type : parts->types) types.push_back(static_cast<proto::OpSharding::Type>(type));
  if (parts->last_tile_dim_replicate) {
    if (!types.empty()) {
      return Fail(offset, "last_tile_dim_replicate and last_tile_dims exclude each other");
    }
    types.push_back(proto::OpSharding::REPLICATED);
  }
  if (types.size() > tiles.dimensions.size()) {
    return Fail(offset, "last_tile_dims has more types than devices= has dimensions");
  }
  if (tiles.reshape.empty()) {
    tiles.devices = parts->devices;
    if (tiles.devices.size() <= 1) {
      return Fail(offset, "a tiled sharding has more than one device");
    }
    if (static_cast<int64_t>(tiles.devices.size()) != size) {
      return Fail(offset, absl::StrCat("the sharding has ", size, " tiles, but ",
                                       tiles.devices.size(), " devices are listed"));
    }
  } else {
    int64_t range;
    if (!ProductOf(tiles.reshape, &range) || range != size) {
      return Fail(offset, absl::StrCat("the sharding has ", size,
                                       " tiles, but the range after <= "
                                       "another number"));
    }
    tiles.Canonicalize();
  }
  if (types.empty()) {
    AssignmentToProto(tiles, sharding);
  } else {
    Subgroups(std::move(tiles), std::move(types), sharding);
  }
  return true;
}

bool TextParser::DevicesAttribute(ShardingParts* parts) {
  Int64s dimensions, reshape, transpose;
  const auto number = [this](Int64s* values) {
    int64_t value;
    if (!Int64(&value)) return false;
    values->push_back(value);
    return true;
  };
  if (!List(Token::kLeftBracket, Token::kRightBracket, Token::kComma, "tile dimensions",
            [&] { return number(&dimensions); })) {
    return false;
  }
  parts->tiles.dimensions.assign(dimensions.begin(), dimensions.end());
  if (lexer_.kind() == Token::kLessEqual) {
    if (!IotaTail(&reshape, &transpose)) return false;
    parts->tiles.reshape.assign(reshape.begin(), reshape.end());
    parts->tiles.permutation.assign(transpose.begin(), transpose.end());
    return true;
  }
  parts->devices.clear();
  do {
    int64_t device;
    if (!Int64(&device)) return false;
    parts->devices.push_back(device);
  } while (Eat(Token::kComma));
  return true;
}

// `<=[dims]`, with `T(permutation)` where there is more than one.
bool TextParser::IotaTail(Int64s* reshape, Int64s* transpose) {
  if (!Expect(Token::kLessEqual, "before the range of devices") ||
      !List(Token::kLeftBracket, Token::kRightBracket, Token::kComma, "the range of devices", [&] {
        int64_t value;
        if (!Int64(&value)) return false;
        reshape->push_back(value);
        return true;
      })) {
    return false;
  }
  if (reshape->empty()) return FailHere("the range of devices has no dimensions");
  if (reshape->size() > 1) return IotaTranspose(reshape->size(), transpose);
  transpose->push_back(0);
  return true;
}

bool TextParser::IotaTranspose(size_t rank, Int64s* transpose) {
  if (!AtIdentifier("T")) return Expected("T(...), the permutation of the range of devices");
  const size_t offset = lexer_.offset();
  lexer_.Next();
  uint64_t seen = 0;
  if (!List(Token::kLeftParen, Token::kRightParen, Token::kComma, "a permutation", [&] {
        int64_t value;
        if (!Int64(&value)) return false;
        if (value < 0 || value >= static_cast<int64_t>(rank) || value >= 64 ||
            (seen >> value & 1) != 0) {
          return Fail(offset, "this is no permutation of the range's dimensions");
        }
        seen |= uint64_t{1} << value;
        transpose->push_back(value);
        return true;
      })) {
    return false;
  }
  return transpose->size() == rank ||
         Fail(offset, "this is no permutation of the range's dimensions");
}

bool TextParser::ShardingMetadata(google::protobuf::RepeatedPtrField<proto::OpMetadata>* metadata) {
  if (lexer_.kind() == Token::kLeftBrace && lexer_.Peek() == Token::kLeftBrace) {
    return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "metadata",
                [&] { return MetadataFields(metadata->Add()); });
  }
  return MetadataFields(metadata->Add());
}

bool TextParser::ShardingTypes(google::protobuf::RepeatedField<int>* types) {
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "last_tile_dims", [&] {
    if (lexer_.kind() != Token::kKeyword) return Expected("a type of sharding");
    switch (lexer_.keyword()) {
      case Keyword::kMaximal:
        types->Add(proto::OpSharding::MAXIMAL);
        break;
      case Keyword::kReplicated:
        types->Add(proto::OpSharding::REPLICATED);
        break;
      case Keyword::kManual:
        types->Add(proto::OpSharding::MANUAL);
        break;
      case Keyword::kUnreduced:
        types->Add(proto::OpSharding::UNREDUCED);
        break;
      default:
        return Expected("maximal, replicated, manual or unreduced");
    }
    lexer_.Next();
    return true;
  });
}

// `{kind="sharding", entry=..., exit=...}`.
bool TextParser::Domain(Pending* p) {
  P* attributes = AttributesOf(p);
  const size_t offset = lexer_.offset();
  uint32_t seen = 0;
  if (!Expect(Token::kLeftBrace, "to begin a domain")) return false;
  while (lexer_.kind() != Token::kRightBrace) {
    Eat(Token::kComma);
    if (lexer_.kind() != Token::kAttributeName) return Expected("kind=, entry= or exit=");
    const absl::string_view name = lexer_.text();
    const size_t field_offset = lexer_.offset();
    lexer_.Next();
    const uint32_t bit = name == "kind" ? 1 : name == "entry" ? 2 : name == "exit" ? 4 : 0;
    if (bit == 0) return Fail(field_offset, absl::StrCat("a domain has no field \"", name, "\""));
    if ((seen & bit) != 0) return Fail(field_offset, absl::StrCat(name, "= appears twice"));
    seen |= bit;
    absl::string_view kind;
    // XLA's protobuf has the two the other way around.
    const bool ok = bit == 1   ? String(&kind)
                    : bit == 2 ? Sharding(attributes->mutable_domain_exit_sharding())
                               : Sharding(attributes->mutable_domain_entry_sharding());
    if (!ok) return false;
    if (bit == 1 && kind != "sharding") {
      return Fail(field_offset,
                  absl::StrCat("the kind of a domain is \"sharding\", got \"", kind, "\""));
    }
  }
  if (seen != 7) return Fail(offset, "a domain needs kind=, entry= and exit=");
  return Expect(Token::kRightBrace, "to end a domain");
}

}  // namespace autotune
