#include "hardware/npz_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kZip64EndSignature = 0x06064b50;
constexpr uint32_t kZip64LocatorSignature = 0x07064b50;
constexpr uint32_t kEntrySignature = 0x02014b50;
constexpr size_t kEndBytes = 22;
constexpr size_t kZip64LocatorBytes = 20;
constexpr size_t kZip64EndBytes = 56;
constexpr size_t kEntryBytes = 46;
constexpr size_t kMaxComment = 65535;
// Deflate's longest match for its shortest code: 258 bytes for 2 bits.
constexpr uint64_t kMaxExpansion = 1032;
constexpr uint64_t kMaxDirectoryBytes = uint64_t{1} << 30;

// The little-endian number of `size` bytes at `at`. REQUIRES: there.
uint64_t Number(absl::string_view bytes, size_t at, int size) {
  uint64_t value = 0;
  for (int i = size; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<size_t>(i)]);
  }
  return value;
}

class MemorySource : public NpzSource {
 public:
  MemorySource(std::string bytes, std::string name)
      : NpzSource(std::move(name), bytes.size()), bytes_(std::move(bytes)) {}

 protected:
  bool ReadInside(uint64_t offset, std::string* bytes) const override {
    std::memcpy(bytes->data(), bytes_.data() + offset, bytes->size());
    return true;
  }

 private:
  std::string bytes_;
};

class FileSource : public NpzSource {
 public:
  FileSource(int descriptor, std::string name, uint64_t size)
      : NpzSource(std::move(name), size), descriptor_(descriptor) {}
  ~FileSource() override { close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

 protected:
  bool ReadInside(uint64_t offset, std::string* bytes) const override {
    size_t done = 0;
    while (done < bytes->size()) {
      const ssize_t got = pread(descriptor_, bytes->data() + done, bytes->size() - done,
                                static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<size_t>(got);
    }
    return true;
  }

 private:
  int descriptor_;
};

// Where the directory is and how much it holds.
struct DirectoryPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
};

absl::StatusOr<DirectoryPlace> Zip64Place(const NpzSource& source, uint64_t end_offset) {
  if (end_offset < kZip64LocatorBytes) return source.Error("the zip archive's end is damaged");
  const auto locator = source.ReadAt(end_offset - kZip64LocatorBytes, kZip64LocatorBytes);
  if (!locator.ok()) return locator.status();
  if (Number(*locator, 0, 4) != kZip64LocatorSignature) {
    return source.Error("the zip archive's end is damaged");
  }
  const auto end = source.ReadAt(Number(*locator, 8, 8), kZip64EndBytes);
  if (!end.ok()) return end.status();
  if (Number(*end, 0, 4) != kZip64EndSignature) {
    return source.Error("the zip archive's end is damaged");
  }
  return DirectoryPlace{Number(*end, 48, 8), Number(*end, 40, 8), Number(*end, 32, 8)};
}

absl::StatusOr<DirectoryPlace> FindDirectory(const NpzSource& source) {
  const uint64_t tail = std::min<uint64_t>(source.size(), kEndBytes + kMaxComment);
  const auto bytes = source.ReadAt(source.size() - tail, tail);
  if (!bytes.ok()) return bytes.status();
  for (size_t at = bytes->size() < kEndBytes ? 0 : bytes->size() - kEndBytes + 1; at-- > 0;) {
    if (Number(*bytes, at, 4) != kEndSignature) continue;
    if (at + kEndBytes + Number(*bytes, at + 20, 2) != bytes->size()) continue;
    const DirectoryPlace place = {Number(*bytes, at + 16, 4), Number(*bytes, at + 12, 4),
                                  Number(*bytes, at + 10, 2)};
    if (place.offset == 0xffffffff || place.bytes == 0xffffffff || place.entries == 0xffff) {
      return Zip64Place(source, source.size() - tail + at);
    }
    return place;
  }
  return source.Error("it is no .npz file (a zip archive of arrays), or its end is cut off");
}

// Replaces the numbers that did not fit 32 bits by those of the extra field 1.
bool TakeZip64Extra(absl::string_view extra, NpzMember* member) {
  while (extra.size() >= 4) {
    const uint64_t id = Number(extra, 0, 2);
    const size_t length = Number(extra, 2, 2);
    if (extra.size() < 4 + length) return false;
    absl::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) continue;
    for (uint64_t* number : {&member->bytes, &member->compressed_bytes, &member->header_offset}) {
      if (*number != 0xffffffff) continue;
      if (field.size() < 8) return false;
      *number = Number(field, 0, 8);
      field.remove_prefix(8);
    }
  }
  return true;
}

absl::Status CheckMember(const NpzSource& source, const NpzMember& member, uint64_t flags,
                         uint64_t method) {
  const auto error = [&](absl::string_view what) {
    return source.Error(absl::StrCat("member ", member.name.substr(0, 80), " ", what));
  };
  if ((flags & 1) != 0) return error("is encrypted");
  if (method != 0 && method != 8) return error(absl::StrCat("has the unknown method ", method));
  if (member.compressed_bytes > source.size()) return error("is larger than the file");
  const uint64_t most =
      member.deflated ? kMaxExpansion * (member.compressed_bytes + 1) : member.compressed_bytes;
  if (member.bytes > most || (!member.deflated && member.bytes != member.compressed_bytes)) {
    return error("claims a size that its bytes cannot have");
  }
  return absl::OkStatus();
}

// The entry at the start of `directory`, which moves on.
absl::StatusOr<NpzMember> ReadEntry(const NpzSource& source, absl::string_view* directory) {
  if (directory->size() < kEntryBytes || Number(*directory, 0, 4) != kEntrySignature) {
    return source.Error("the zip archive's directory is damaged");
  }
  const absl::string_view entry = *directory;
  const size_t name = Number(entry, 28, 2), extra = Number(entry, 30, 2);
  const size_t whole = kEntryBytes + name + extra + Number(entry, 32, 2);
  if (entry.size() < whole) return source.Error("the zip archive's directory is damaged");
  directory->remove_prefix(whole);
  NpzMember member;
  member.name = std::string(entry.substr(kEntryBytes, name));
  member.crc = static_cast<uint32_t>(Number(entry, 16, 4));
  member.compressed_bytes = Number(entry, 20, 4);
  member.bytes = Number(entry, 24, 4);
  member.header_offset = Number(entry, 42, 4);
  const uint64_t method = Number(entry, 10, 2);
  member.deflated = method == 8;
  if (!TakeZip64Extra(entry.substr(kEntryBytes + name, extra), &member)) {
    return source.Error("the zip archive's directory is damaged");
  }
  absl::Status status = CheckMember(source, member, Number(entry, 8, 2), method);
  if (!status.ok()) return status;
  return member;
}

}  // namespace

absl::Status NpzSource::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(name_, ": ", what));
}

absl::StatusOr<std::string> NpzSource::ReadAt(uint64_t offset, uint64_t count) const {
  if (offset > size_ || count > size_ - offset) return Error("the zip archive is cut or damaged");
  std::string bytes(count, '\0');
  if (!ReadInside(offset, &bytes)) {
    return absl::UnavailableError(absl::StrCat(name_, ": reading fails: ", strerror(errno)));
  }
  return bytes;
}

absl::StatusOr<std::shared_ptr<const NpzSource>> NpzSource::OfFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const std::string message = absl::StrCat(path, ": ", strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(message) : absl::PermissionDeniedError(message);
  }
  struct stat info = {};
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    return absl::InvalidArgumentError(absl::StrCat(path, ": it is no regular file"));
  }
  return std::make_shared<FileSource>(descriptor, path, static_cast<uint64_t>(info.st_size));
}

std::shared_ptr<const NpzSource> NpzSource::OfBytes(std::string bytes, std::string name) {
  return std::make_shared<MemorySource>(std::move(bytes), std::move(name));
}

absl::StatusOr<std::vector<NpzMember>> ReadNpzDirectory(const NpzSource& source) {
  const absl::StatusOr<DirectoryPlace> place = FindDirectory(source);
  if (!place.ok()) return place.status();
  if (place->bytes > kMaxDirectoryBytes) return source.Error("the zip directory is too large");
  const auto bytes = source.ReadAt(place->offset, place->bytes);
  if (!bytes.ok()) return bytes.status();
  absl::string_view directory = *bytes;
  std::vector<NpzMember> members;
  while (!directory.empty()) {
    absl::StatusOr<NpzMember> member = ReadEntry(source, &directory);
    if (!member.ok()) return member.status();
    members.push_back(*std::move(member));
  }
  if (members.size() != place->entries) {
    return source.Error("the zip archive's directory is damaged");
  }
  return members;
}

}  // namespace autotune
