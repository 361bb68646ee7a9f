// Python wheels, read and written (binary distribution format 1.0).
//
//   CERB_TRY(const Wheel in, Wheel::Open("x-1.0-py3-none-any.whl"));
//   CERB_TRY(WheelWriter out, WheelWriter::Create("out", name, purelib));
//   for (const ZipMember& member : in.files()) {
//     CERB_TRY(const std::string hash, in.Read(member, sink));
//     CERB_TRY_VOID(out.Copy(in, member, in.NewPath(member, name), hash));
//   }
//   CERB_TRY_VOID(out.AddText("x.dist-info/METADATA", text));
//   CERB_TRY_VOID(out.Finish());   // writes RECORD, and everything
//   CERB_TRY_VOID(out.Commit());   // the file appears
#ifndef CERBERUS_PACKAGER_WHEEL_WHEEL_H_
#define CERBERUS_PACKAGER_WHEEL_WHEEL_H_

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "packager/wheel/core_metadata.h"
#include "packager/wheel/record.h"
#include "packager/wheel/wheel_name.h"
#include "packager/wheel/zip_reader.h"
#include "packager/wheel/zip_writer.h"
#include "support/result.h"

namespace cerberus::packager {

class Wheel {
 public:
  // Errors, beside those of ZipReader: not the name of a wheel; no .dist-info
  // folder or several; no METADATA, WHEEL or RECORD in it; a name or version
  // there that is not the file name's; another major version of the format.
  static Result<Wheel> Open(const std::string& path);
  static Result<Wheel> FromBytes(ByteSpan bytes, const std::string& path);

  const std::string& path() const { return zip_.path(); }
  const WheelName& name() const { return name_; }
  const std::string& dist_info() const { return dist_info_; }  // the folder
  const CoreMetadata& metadata() const { return metadata_; }
  const CoreMetadata& wheel_file() const { return wheel_file_; }
  const ZipReader& zip() const { return zip_; }
  // All but METADATA, WHEEL, RECORD and signatures of it, which hold for the
  // wheel as it is and no other.
  const std::vector<ZipMember>& files() const { return files_; }
  // What RECORD and the files do not agree in, short of their bytes: files
  // that only one of them has.
  const std::vector<Diag>& warnings() const { return warnings_; }

  // A file's bytes, a piece at a time, and then its hash. Errors: not the
  // hash or size that RECORD has.
  Result<std::string> Read(const ZipMember& member,
                           const ZipReader::Sink& sink) const;

  // Where a file goes in a wheel of another name or version: the folders
  // "x-1.0.dist-info" and "x-1.0.data" are called differently there.
  std::string NewPath(const std::string& path, const WheelName& other) const;
  // Where a file is installed, relative to the folder of packages; "" if it is
  // elsewhere (scripts, headers, data), in a place that only the installer
  // knows.
  std::string InstalledPath(const std::string& path) const;

 private:
  explicit Wheel(ZipReader zip) : zip_(std::move(zip)) {}
  Status ReadAll();
  Status FindDistInfo();
  Result<CoreMetadata> ReadFields(const std::string& file) const;
  Status ReadRecord();

  ZipReader zip_;
  WheelName name_;
  std::string dist_info_;
  std::string data_;  // "x-1.0.data", if there is one
  CoreMetadata metadata_;
  CoreMetadata wheel_file_;
  std::vector<ZipMember> files_;
  std::map<std::string, RecordLine> record_;
  std::vector<Diag> warnings_;
};

class WheelWriter {
 public:
  static Result<WheelWriter> Create(const std::string& folder,
                                    const WheelName& name);

  const WheelName& name() const { return name_; }
  // "x-1.0.dist-info"
  std::string dist_info() const { return name_.Stem() + ".dist-info"; }

  Status Copy(const Wheel& from, const ZipMember& member,
              const std::string& path, const std::string& hash);
  // The bytes must live until Finish().
  Status Add(const std::string& path, ByteSpan bytes, unsigned mode,
             bool compress = true);
  Status AddText(const std::string& path, std::string text);

  // Adds RECORD and writes it all.
  Status Finish(const std::function<bool()>& cancelled = {});
  Status Commit() { return zip_.Commit(); }

  const std::string& path() const { return zip_.path(); }
  std::uint64_t size() const { return zip_.size(); }
  Result<MappedFile> Map() const { return zip_.Map(); }

 private:
  WheelWriter(ZipWriter zip, WheelName name)
      : zip_(std::move(zip)), name_(std::move(name)) {}

  std::deque<std::string> texts_;  // until they are written
  ZipWriter zip_;
  WheelName name_;
  std::vector<RecordLine> record_;
};

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_WHEEL_WHEEL_H_
