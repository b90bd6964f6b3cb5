#include <zlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hardware/npz_file.h"

namespace autotune {
namespace {

constexpr uint64_t kMaxBytes = 0xfffffffe;

// Little-endian, in `size` bytes, which may be more than a uint64_t has.
void AppendNumber(uint64_t value, int size, std::string* bytes) {
  for (int i = 0; i < size; ++i) {
    *bytes += static_cast<char>(value & 0xff);
    value >>= 8;
  }
}

absl::StatusOr<std::string> Deflate(const std::string& content) {
  z_stream stream = {};
  // Level and window are fixed, so that equal contents give equal bytes.
  if (deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::ResourceExhaustedError("zlib lacks memory");
  }
  std::string compressed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int result = deflate(&stream, Z_FINISH);
  compressed.resize(compressed.size() - stream.avail_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return absl::InternalError("zlib does not compress an array");
  return compressed;
}

// What local header and directory entry share: from "version needed" to the length of the extra
// field.
std::string CommonHeader(const std::string& name, const std::string& content,
                         const std::string& compressed) {
  std::string header;
  AppendNumber(20, 2, &header);    // version 2.0: deflate
  AppendNumber(0, 2, &header);     // flags
  AppendNumber(8, 2, &header);     // deflate
  AppendNumber(0, 2, &header);     // midnight
  AppendNumber(0x21, 2, &header);  // 1 January 1980
  AppendNumber(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()), 4,
               &header);
  AppendNumber(compressed.size(), 4, &header);
  AppendNumber(content.size(), 4, &header);
  AppendNumber(name.size(), 2, &header);
  AppendNumber(0, 2, &header);
  return header;
}

}  // namespace

absl::StatusOr<std::string> SerializeNpz(const std::vector<NamedNpyArray>& arrays) {
  std::string file;
  std::string directory;
  for (const NamedNpyArray& named : arrays) {
    const std::string name = absl::StrCat(named.name, ".npy");
    const std::string content = SerializeNpy(named.array);
    if (content.size() > kMaxBytes || file.size() > kMaxBytes) {
      return absl::ResourceExhaustedError("an .npz file of more than 4 GiB is not written");
    }
    const absl::StatusOr<std::string> compressed = Deflate(content);
    if (!compressed.ok()) return compressed.status();
    const std::string common = CommonHeader(name, content, *compressed);
    directory += "PK\x01\x02";
    AppendNumber(20, 2, &directory);
    directory += common;
    AppendNumber(0, 10, &directory);  // no comment, first disk, no attributes
    AppendNumber(file.size(), 4, &directory);
    directory += name;
    absl::StrAppend(&file, "PK\x03\x04", common, name, *compressed);
  }
  const size_t directory_offset = file.size();
  if (directory_offset > kMaxBytes || arrays.size() >= 0xffff) {
    return absl::ResourceExhaustedError("an .npz file of more than 4 GiB is not written");
  }
  absl::StrAppend(&file, directory, "PK\x05\x06");
  AppendNumber(0, 4, &file);
  AppendNumber(arrays.size(), 2, &file);
  AppendNumber(arrays.size(), 2, &file);
  AppendNumber(directory.size(), 4, &file);
  AppendNumber(directory_offset, 4, &file);
  AppendNumber(0, 2, &file);
  return file;
}

}  // namespace autotune
