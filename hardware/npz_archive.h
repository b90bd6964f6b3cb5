#ifndef AUTOTUNE_HARDWARE_NPZ_ARCHIVE_H_
#define AUTOTUNE_HARDWARE_NPZ_ARCHIVE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// The zip archive under an .npz file (PKWARE's APPNOTE.TXT, version 6.3): its directory, and
// members that are read in parts. Internal to npz_file.h.
namespace autotune {

// The bytes of an archive, in memory or in a file. Thread-safe.
class NpzSource {
 public:
  // NotFound for a missing file, InvalidArgument for a folder.
  static absl::StatusOr<std::shared_ptr<const NpzSource>> OfFile(const std::string& path);
  static std::shared_ptr<const NpzSource> OfBytes(std::string bytes, std::string name);

  virtual ~NpzSource() = default;

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }

  // The `count` bytes from `offset`. InvalidArgument if they are not all there.
  absl::StatusOr<std::string> ReadAt(uint64_t offset, uint64_t count) const;

  // InvalidArgument with the source's name.
  absl::Status Error(absl::string_view what) const;

 protected:
  NpzSource(std::string name, uint64_t size) : name_(std::move(name)), size_(size) {}
  // REQUIRES: within the source. False if reading fails.
  virtual bool ReadInside(uint64_t offset, std::string* bytes) const = 0;

 private:
  std::string name_;
  uint64_t size_;
};

// Where a member lies in the archive.
struct NpzMember {
  std::string name;
  uint64_t header_offset = 0;
  uint64_t compressed_bytes = 0;
  uint64_t bytes = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

// The members in the order of the archive's directory. InvalidArgument, saying what is wrong, for
// what is no zip archive, and for members that are encrypted, compressed by anything but deflate,
// or claim a size that their compressed bytes cannot have.
absl::StatusOr<std::vector<NpzMember>> ReadNpzDirectory(const NpzSource& source);

// The content of a member from its start. Not thread-safe.
class NpzMemberStream {
 public:
  static absl::StatusOr<std::unique_ptr<NpzMemberStream>> Open(
      std::shared_ptr<const NpzSource> source, NpzMember member);
  virtual ~NpzMemberStream() = default;

  // The next `count` bytes. InvalidArgument for damage and where the member ends before.
  virtual absl::StatusOr<std::string> Read(uint64_t count) = 0;
  // Bytes not read yet.
  virtual uint64_t remaining() const = 0;
  // InvalidArgument with the names of file and member.
  virtual absl::Status Error(absl::string_view what) const = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_NPZ_ARCHIVE_H_
