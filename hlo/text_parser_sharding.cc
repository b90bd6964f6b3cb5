#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/int_math.h"
#include "hlo/sharding_subgroups.h"
#include "hlo/text_parser.h"
#include "hlo/tile_assignment.h"

namespace autotune {
namespace {

using Sharding = proto::OpSharding;

// Device lists are written out by some canonical forms: a limit on their length.
constexpr int64_t kMaxDevices = int64_t{1} << 20;
constexpr int64_t kDevicesPerByte = 64;

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
  bool shard_as = false;
  // -1 stands for no group, in the text too.
  int64_t group = -1;
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
  const auto& listed = sharding->tile_assignment_devices();
  if (!RoomForDevices(lexer_.offset(), SaturatingMultiply(leaves, listed.size()))) return false;
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
  if (parts.group != -1) {
    sharding->set_is_shard_group(true);
    sharding->set_shard_group_id(parts.group);
    sharding->set_shard_group_type(parts.shard_as ? proto::OpSharding::AS
                                                  : proto::OpSharding::LIKE);
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
      parts->shard_as = parts->shard_as || keyword == Keyword::kShardAs;
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
  if (!tiles.reshape.empty() && !parts->devices.empty()) {
    return Fail(offset, "a sharding lists its devices or gives a range of them, not both");
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
  const bool is_range = tiles.IsRange();
  TiledShardingToProto(std::move(tiles), std::move(types), sharding);
  return !is_range || RoomForDevices(offset, sharding->tile_assignment_devices_size());
}

// A range whose groups have to be sorted becomes a list, a sharding of a tuple one for each of its
// leaves: a short text could fill the memory.
bool TextParser::RoomForDevices(size_t offset, int64_t count) {
  const auto room = kMaxDevices + kDevicesPerByte * static_cast<int64_t>(lexer_.offset());
  listed_devices_ = SaturatingAdd(listed_devices_, count);
  if (listed_devices_ <= room) return true;
  return Fail(offset, absl::StrCat("the shardings stand for lists of more than ", room,
                                   " devices up to here"));
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
  // As in XLA, dimensions and devices that are given twice are put one behind the other.
  std::vector<int64_t>& tiles = parts->tiles.dimensions;
  tiles.insert(tiles.end(), dimensions.begin(), dimensions.end());
  if (lexer_.kind() == Token::kLessEqual) {
    const size_t offset = lexer_.offset();
    if (!IotaTail(&reshape, &transpose)) return false;
    if (!parts->tiles.reshape.empty()) return Fail(offset, "this sharding has a range already");
    parts->tiles.reshape.assign(reshape.begin(), reshape.end());
    parts->tiles.permutation.assign(transpose.begin(), transpose.end());
    return true;
  }
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
