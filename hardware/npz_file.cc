#include "hardware/npz_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace autotune {
namespace {

// A member whose .npy header has been read.
struct OpenArray {
  NpyHeader header;
  std::unique_ptr<NpzMemberStream> elements;
};

absl::StatusOr<OpenArray> OpenElements(std::unique_ptr<NpzMemberStream> stream) {
  const auto prefix = stream->Read(std::min<uint64_t>(stream->remaining(), kNpyPrefixBytes));
  if (!prefix.ok()) return prefix.status();
  const absl::StatusOr<size_t> length = NpyHeaderBytes(*prefix);
  if (!length.ok()) return stream->Error(length.status().message());
  const auto rest = stream->Read(*length < prefix->size() ? 0 : *length - prefix->size());
  if (!rest.ok()) return rest.status();
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(absl::StrCat(*prefix, *rest));
  if (!header.ok()) return stream->Error(header.status().message());
  if (static_cast<uint64_t>(header->DataBytes()) != stream->remaining()) {
    return stream->Error(absl::StrCat("the array needs ", header->DataBytes(), " bytes and has ",
                                      stream->remaining()));
  }
  return OpenArray{*std::move(header), std::move(stream)};
}

class ElementStream : public NpyStream {
 public:
  explicit ElementStream(OpenArray array)
      : array_(std::move(array)), big_endian_(array_.header.big_endian) {
    array_.header.big_endian = false;
    array_.header.fortran_order = false;
  }

  const NpyHeader& header() const override { return array_.header; }

  absl::StatusOr<std::string> Next(int64_t elements) override {
    const uint64_t size = static_cast<uint64_t>(NpyTypeSize(array_.header.type));
    const uint64_t left = array_.elements->remaining() / size;
    const uint64_t count = std::min(left, static_cast<uint64_t>(std::max<int64_t>(elements, 0)));
    absl::StatusOr<std::string> bytes = array_.elements->Read(count * size);
    if (!bytes.ok()) return bytes.status();
    NpyHeader part = {array_.header.type, big_endian_, false, {static_cast<int64_t>(count)}};
    return NormaliseNpyData(part, *std::move(bytes));
  }

 private:
  OpenArray array_;
  bool big_endian_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<NpzReader>> NpzReader::Open(const std::string& path) {
  absl::StatusOr<std::shared_ptr<const NpzSource>> source = NpzSource::OfFile(path);
  if (!source.ok()) return source.status();
  return FromSource(*std::move(source));
}

absl::StatusOr<std::unique_ptr<NpzReader>> NpzReader::FromBytes(std::string bytes,
                                                                std::string name) {
  return FromSource(NpzSource::OfBytes(std::move(bytes), std::move(name)));
}

absl::StatusOr<std::unique_ptr<NpzReader>> NpzReader::FromSource(
    const std::shared_ptr<const NpzSource>& source) {
  absl::StatusOr<std::vector<NpzMember>> members = ReadNpzDirectory(*source);
  if (!members.ok()) return members.status();
  std::unique_ptr<NpzReader> reader(new NpzReader(source));
  for (NpzMember& member : *members) {
    const std::string name(absl::StripSuffix(member.name, ".npy"));
    if (!reader->members_.emplace(name, std::move(member)).second) {
      return source->Error(absl::StrCat("holds two arrays named ", name.substr(0, 80)));
    }
    reader->names_.push_back(name);
  }
  return reader;
}

absl::StatusOr<std::unique_ptr<NpzMemberStream>> NpzReader::OpenMember(
    const std::string& name) const {
  const auto member = members_.find(name);
  if (member == members_.end()) {
    return absl::NotFoundError(absl::StrCat(source_->name(), ": there is no array ", name));
  }
  return NpzMemberStream::Open(source_, member->second);
}

absl::StatusOr<NpyHeader> NpzReader::ReadHeader(const std::string& name) const {
  absl::StatusOr<std::unique_ptr<NpzMemberStream>> stream = OpenMember(name);
  if (!stream.ok()) return stream.status();
  absl::StatusOr<OpenArray> array = OpenElements(*std::move(stream));
  if (!array.ok()) return array.status();
  return std::move(array->header);
}

absl::StatusOr<NpyArray> NpzReader::Read(const std::string& name) const {
  absl::StatusOr<std::unique_ptr<NpzMemberStream>> stream = OpenMember(name);
  if (!stream.ok()) return stream.status();
  absl::StatusOr<OpenArray> array = OpenElements(*std::move(stream));
  if (!array.ok()) return array.status();
  absl::StatusOr<std::string> data = array->elements->Read(array->elements->remaining());
  if (!data.ok()) return data.status();
  return NpyArray{array->header.type, array->header.shape,
                  NormaliseNpyData(array->header, *std::move(data))};
}

absl::StatusOr<std::unique_ptr<NpyStream>> NpzReader::Stream(const std::string& name) const {
  absl::StatusOr<std::unique_ptr<NpzMemberStream>> stream = OpenMember(name);
  if (!stream.ok()) return stream.status();
  absl::StatusOr<OpenArray> array = OpenElements(*std::move(stream));
  if (!array.ok()) return array.status();
  if (array->header.fortran_order && array->header.shape.size() > 1) {
    return array->elements->Error("its elements are in Fortran order: it cannot be streamed");
  }
  return std::make_unique<ElementStream>(*std::move(array));
}

bool LooksLikeNpz(absl::string_view bytes) {
  // "PK\5\6" is an archive without members.
  return absl::StartsWith(bytes, "PK\x03\x04") || absl::StartsWith(bytes, "PK\x05\x06");
}

}  // namespace autotune
