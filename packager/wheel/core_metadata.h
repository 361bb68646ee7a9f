// The files METADATA and WHEEL: header fields as in mail, and in METADATA a
// description below (core metadata specification).
//
// What is not changed stays as it is written, folded lines and the
// description included.
#ifndef CERBERUS_PACKAGER_WHEEL_CORE_METADATA_H_
#define CERBERUS_PACKAGER_WHEEL_CORE_METADATA_H_

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace cerberus::packager {

class CoreMetadata {
 public:
  // `name` is for messages: "x.whl/x-1.0.dist-info/METADATA". Errors: a line
  // that is no field and does not go on with one.
  static Result<CoreMetadata> Parse(std::string_view text,
                                    const std::string& name);
  CoreMetadata() = default;  // without a field

  // The first field of a name, in whatever case; "" if there is none.
  std::string Get(std::string_view name) const;
  std::vector<std::string> GetAll(std::string_view name) const;

  // In the place of the first one, or at the end; others of the name go.
  void Set(const std::string& name, const std::string& value);
  // Below the last of that name, or at the end.
  void Add(const std::string& name, const std::string& value);
  void Remove(std::string_view name);
  void SetBody(std::string body) { body_ = std::move(body); }

  std::string ToString() const;

 private:
  struct Field {
    std::string name;
    std::string raw;  // what stands behind "name:", without the last newline
  };
  static std::string Value(const Field& field);

  std::vector<Field> fields_;
  std::string body_;  // behind the empty line
};

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_WHEEL_CORE_METADATA_H_
