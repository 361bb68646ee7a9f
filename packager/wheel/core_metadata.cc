#include "packager/wheel/core_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace cerberus::packager {
namespace {

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) {
                      return std::tolower(x) == std::tolower(y);
                    });
}

}  // namespace

Result<CoreMetadata> CoreMetadata::Parse(std::string_view text,
                                         const std::string& name) {
  CoreMetadata metadata;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) {
      metadata.body_ = text;
      break;
    }
    if (line.front() == ' ' || line.front() == '\t') {
      if (!metadata.fields_.empty()) {
        metadata.fields_.back().raw += fmt::format("\n{}", line);
        continue;
      }
    } else if (const std::size_t colon = line.find(':');
               colon != std::string_view::npos && colon != 0) {
      metadata.fields_.push_back({std::string(line.substr(0, colon)),
                                  std::string(line.substr(colon + 1))});
      continue;
    }
    Where where;
    where.file = name;
    return Err(DiagCode::kBadFormat, std::move(where),
               fmt::format("line {}, expected 'Field: value'", number));
  }
  return metadata;
}

std::string CoreMetadata::Value(const Field& field) {
  std::size_t start = 0;
  std::size_t end = field.raw.size();
  const auto is_space = [&](std::size_t i) {
    return std::isspace(static_cast<unsigned char>(field.raw[i])) != 0;
  };
  while (start < end && is_space(start)) ++start;
  while (end > start && is_space(end - 1)) --end;
  return field.raw.substr(start, end - start);
}

std::string CoreMetadata::Get(std::string_view name) const {
  for (const Field& field : fields_) {
    if (SameName(field.name, name)) return Value(field);
  }
  return "";
}

std::vector<std::string> CoreMetadata::GetAll(std::string_view name) const {
  std::vector<std::string> values;
  for (const Field& field : fields_) {
    if (SameName(field.name, name)) values.push_back(Value(field));
  }
  return values;
}

void CoreMetadata::Set(const std::string& name, const std::string& value) {
  const auto first = std::find_if(
      fields_.begin(), fields_.end(),
      [&](const Field& field) { return SameName(field.name, name); });
  if (first == fields_.end()) {
    fields_.push_back({name, " " + value});
    return;
  }
  first->raw = " " + value;
  fields_.erase(std::remove_if(first + 1, fields_.end(),
                               [&](const Field& field) {
                                 return SameName(field.name, name);
                               }),
                fields_.end());
}

void CoreMetadata::Add(const std::string& name, const std::string& value) {
  const auto last = std::find_if(
      fields_.rbegin(), fields_.rend(),
      [&](const Field& field) { return SameName(field.name, name); });
  fields_.insert(last == fields_.rend() ? fields_.end() : last.base(),
                 {name, " " + value});
}

void CoreMetadata::Remove(std::string_view name) {
  fields_.erase(std::remove_if(fields_.begin(), fields_.end(),
                               [&](const Field& field) {
                                 return SameName(field.name, name);
                               }),
                fields_.end());
}

std::string CoreMetadata::ToString() const {
  std::string text;
  for (const Field& field : fields_) {
    text += fmt::format("{}:{}\n", field.name, field.raw);
  }
  if (!body_.empty()) text += "\n" + body_;
  return text;
}

}  // namespace cerberus::packager
