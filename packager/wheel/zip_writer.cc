#include "packager/wheel/zip_writer.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <utility>

namespace cerberus::packager {
namespace {

constexpr zip_uint32_t kDeflateLevel = 6;

struct DosTime {
  zip_uint16_t time = 0;
  zip_uint16_t date = 1 << 5 | 1;  // 1980-01-01
};

// In UTC, so that the place where it runs does not matter.
DosTime TimeOfMembers() {
  const char* text = std::getenv("SOURCE_DATE_EPOCH");
  if (text == nullptr) return {};
  char* end = nullptr;
  errno = 0;
  const auto seconds = static_cast<std::time_t>(std::strtoll(text, &end, 10));
  std::tm tm;
  if (errno != 0 || end == text || *end != '\0' ||
      ::gmtime_r(&seconds, &tm) == nullptr || tm.tm_year < 80) {
    return {};
  }
  DosTime dos;
  const int year = std::min(tm.tm_year - 80, 127);
  dos.date =
      static_cast<zip_uint16_t>(year << 9 | (tm.tm_mon + 1) << 5 | tm.tm_mday);
  dos.time = static_cast<zip_uint16_t>(tm.tm_hour << 11 | tm.tm_min << 5 |
                                       tm.tm_sec / 2);
  return dos;
}

}  // namespace

// libzip writes to what this answers for: our output file, which has no name
// before it is complete.
struct ZipWriter::Impl {
  explicit Impl(OutputFile out) : file(std::move(out)) {
    zip_error_init(&error);
  }
  ~Impl() {
    if (archive != nullptr) zip_discard(archive);
    zip_error_fini(&error);
  }

  static zip_int64_t Answer(void* self, void* data, zip_uint64_t size,
                            zip_source_cmd_t command) {
    return static_cast<Impl*>(self)->Do(data, size, command);
  }
  zip_int64_t Do(void* data, zip_uint64_t size, zip_source_cmd_t command);
  Status Set(const std::string& name, zip_source_t* source, unsigned mode,
             std::optional<bool> compress);
  Diag Error(const std::string& what) const;

  OutputFile file;
  std::uint64_t position = 0;
  zip_error_t error;
  Status written;  // the first write that failed
  zip_t* archive = nullptr;
  const DosTime time = TimeOfMembers();
};

zip_int64_t ZipWriter::Impl::Do(void* data, zip_uint64_t size,
                                zip_source_cmd_t command) {
  switch (command) {
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_STAT:  // there is nothing yet
      zip_error_set(&error, ZIP_ER_READ, ENOENT);
      return -1;
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&error, data, size);
    case ZIP_SOURCE_BEGIN_WRITE: position = 0; return 0;
    case ZIP_SOURCE_WRITE: {
      written = file.WriteAt(position,
                             {static_cast<const std::uint8_t*>(data), size});
      if (!written) {
        zip_error_set(&error, ZIP_ER_WRITE, EIO);
        return -1;
      }
      position += size;
      return static_cast<zip_int64_t>(size);
    }
    case ZIP_SOURCE_SEEK_WRITE: {
      const zip_int64_t to = zip_source_seek_compute_offset(
          position, file.size(), data, size, &error);
      if (to < 0) return -1;
      position = static_cast<std::uint64_t>(to);
      return 0;
    }
    case ZIP_SOURCE_TELL_WRITE: return static_cast<zip_int64_t>(position);
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
    case ZIP_SOURCE_FREE: return 0;
    default: zip_error_set(&error, ZIP_ER_OPNOTSUPP, 0); return -1;
  }
}

Diag ZipWriter::Impl::Error(const std::string& what) const {
  Where where;
  where.file = file.path();
  return MakeDiag(DiagCode::kIo, std::move(where),
                  fmt::format("{}: {}", what, zip_strerror(archive)));
}

Status ZipWriter::Impl::Set(const std::string& name, zip_source_t* source,
                            unsigned mode, std::optional<bool> compress) {
  if (source == nullptr) return Err(Error(fmt::format("'{}'", name)));
  const zip_int64_t index =
      zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return Err(Error(fmt::format("cannot add '{}'", name)));
  }
  const auto at = static_cast<zip_uint64_t>(index);
  if (zip_file_set_dostime(archive, at, time.time, time.date, 0) != 0 ||
      zip_file_set_external_attributes(archive, at, 0, ZIP_OPSYS_UNIX,
                                       mode << 16) != 0 ||
      (compress && zip_set_file_compression(
                       archive, at, *compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                       *compress ? kDeflateLevel : 0) != 0)) {
    return Err(Error(fmt::format("cannot add '{}'", name)));
  }
  return {};
}

ZipWriter::ZipWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ZipWriter::ZipWriter(ZipWriter&&) noexcept = default;
ZipWriter& ZipWriter::operator=(ZipWriter&&) noexcept = default;
ZipWriter::~ZipWriter() = default;

Result<ZipWriter> ZipWriter::Create(const std::string& path) {
  CERB_TRY(OutputFile file, OutputFile::Create(path));
  auto impl = std::make_unique<Impl>(std::move(file));
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source =
      zip_source_function_create(&Impl::Answer, impl.get(), &error);
  if (source != nullptr) {
    impl->archive =
        zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error);
    if (impl->archive == nullptr) zip_source_free(source);
  }
  if (impl->archive == nullptr) {
    Where where;
    where.file = path;
    Diag diag = MakeDiag(
        DiagCode::kInternal, std::move(where),
        fmt::format("cannot begin a zip file: {}", zip_error_strerror(&error)));
    zip_error_fini(&error);
    return Err(std::move(diag));
  }
  zip_error_fini(&error);
  return ZipWriter(std::move(impl));
}

Status ZipWriter::Add(const std::string& name, ByteSpan bytes, unsigned mode,
                      bool compress) {
  return impl_->Set(
      name, zip_source_buffer(impl_->archive, bytes.data(), bytes.size(), 0),
      S_IFREG | (mode & 0777), compress);
}

Status ZipWriter::Copy(const ZipReader& from, const ZipMember& member,
                       const std::string& name) {
  const unsigned kind = member.is_link ? S_IFLNK : S_IFREG;
  return impl_->Set(name,
                    zip_source_zip(impl_->archive, from.zip_.get(),
                                   member.index, ZIP_FL_COMPRESSED, 0, -1),
                    kind | member.mode, std::nullopt);
}

Status ZipWriter::Finish(const std::function<bool()>& cancelled) {
  if (cancelled) {
    zip_register_cancel_callback_with_state(
        impl_->archive,
        [](zip_t*, void* ask) {
          return (*static_cast<const std::function<bool()>*>(ask))() ? 1 : 0;
        },
        nullptr, const_cast<std::function<bool()>*>(&cancelled));
  }
  if (zip_close(impl_->archive) != 0) {
    if (!impl_->written) return impl_->written;
    return Err(impl_->Error("cannot be written"));
  }
  impl_->archive = nullptr;
  return {};
}

Status ZipWriter::Commit() { return impl_->file.Commit(); }
const std::string& ZipWriter::path() const { return impl_->file.path(); }
std::uint64_t ZipWriter::size() const { return impl_->file.size(); }
Result<MappedFile> ZipWriter::Map() const { return impl_->file.Map(); }

}  // namespace cerberus::packager
