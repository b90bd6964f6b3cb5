#ifndef AUTOTUNE_HARDWARE_NPZ_FILE_H_
#define AUTOTUNE_HARDWARE_NPZ_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/npy_array.h"
#include "hardware/npz_archive.h"

namespace autotune {

// One array of an .npz file, read from its start in parts, so that an array larger than the memory
// can be used. Not thread-safe; several streams of one reader may be used by several threads.
class NpyStream {
 public:
  virtual ~NpyStream() = default;

  // Type and shape. `fortran_order` is always false: such arrays are refused (see NpzReader::Read).
  virtual const NpyHeader& header() const = 0;

  // The next `elements` elements, little-endian; fewer at the end, none after it. InvalidArgument,
  // naming file and array, for damage; the checksum is compared when the end is reached.
  virtual absl::StatusOr<std::string> Next(int64_t elements) = 0;
};

// Reads .npz files: zip archives of .npy arrays, as numpy.savez and numpy.savez_compressed write
// them. Stored and deflated members, also beyond 4 GiB (zip64). Opening reads the directory at the
// file's end only; each array is read when it is asked for. Untrusted input gives an error that
// names file and array, never a crash, and never takes more memory than about a thousand times the
// file's size (the most that deflate can expand). Thread-safe.
class NpzReader {
 public:
  // NotFound for a missing file, InvalidArgument for what is no .npz file.
  static absl::StatusOr<std::unique_ptr<NpzReader>> Open(const std::string& path);
  // The same from memory; `name` stands for the file in errors.
  static absl::StatusOr<std::unique_ptr<NpzReader>> FromBytes(std::string bytes, std::string name);

  // The arrays' names, without ".npy", in the file's order.
  const std::vector<std::string>& names() const { return names_; }
  bool Has(const std::string& name) const { return members_.count(name) > 0; }

  // A whole array. NotFound if there is none of that name.
  absl::StatusOr<NpyArray> Read(const std::string& name) const;
  // The shape and type of an array, without its elements.
  absl::StatusOr<NpyHeader> ReadHeader(const std::string& name) const;
  // An array to be read in parts; the stream may outlive the reader. InvalidArgument also for one
  // in Fortran order of two or more axes, whose parts are spread over the file.
  absl::StatusOr<std::unique_ptr<NpyStream>> Stream(const std::string& name) const;

 private:
  explicit NpzReader(std::shared_ptr<const NpzSource> source) : source_(std::move(source)) {}
  static absl::StatusOr<std::unique_ptr<NpzReader>> FromSource(
      const std::shared_ptr<const NpzSource>& source);
  absl::StatusOr<std::unique_ptr<NpzMemberStream>> OpenMember(const std::string& name) const;

  std::shared_ptr<const NpzSource> source_;
  std::vector<std::string> names_;
  std::map<std::string, NpzMember> members_;
};

// True if the bytes begin like a zip archive, which an .npz file is.
bool LooksLikeNpz(absl::string_view bytes);

// An array with its name in an .npz file.
struct NamedNpyArray {
  std::string name;  // without ".npy"
  NpyArray array;
};

// The arrays as an .npz file, deflated as numpy.savez_compressed does. Equal arrays give equal
// bytes: all times in it are the first that zip knows, 1980. ResourceExhausted if an array or the
// file passes 4 GiB, which needs a form that is read here but not written.
absl::StatusOr<std::string> SerializeNpz(const std::vector<NamedNpyArray>& arrays);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_NPZ_FILE_H_
