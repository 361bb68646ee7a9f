// Taking LLVM's text of an instruction apart.
#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "emulator/decode/decode.h"

namespace cerberus::emulator {
namespace {

bool IsSpace(char c) { return c == ' '; }

// The end of the word that starts at `at`: the first space or comma outside
// brackets and quotes.
std::size_t WordEnd(std::string_view s, std::size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < s.size(); ++at) {
    const char c = s[at];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (depth <= 0 && (c == ',' || IsSpace(c))) break;
  }
  return at;
}

}  // namespace

bool ParseInt(std::string_view text, i64* value) {
  bool negative = false;
  if (!text.empty() && text[0] == '-') {
    negative = true;
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  u64 v = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), v, base);
  if (error != std::errc() || end != text.data() + text.size() ||
      text.empty()) {
    return false;
  }
  *value = static_cast<i64>(negative ? 0 - v : v);
  return true;
}

std::vector<int> ParseList(std::string_view text) {
  std::vector<int> out;
  if (text.starts_with("[")) text.remove_prefix(1);
  if (text.ends_with("]")) text.remove_suffix(1);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    while (!item.empty() && IsSpace(item[0])) item.remove_prefix(1);
    i64 v = 0;
    if (ParseInt(item, &v)) out.push_back(static_cast<int>(v));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return out;
}

Text Text::Parse(std::string_view line) {
  Text t;
  const std::size_t space = line.find(' ');
  t.mnemonic = StripEncoding(line.substr(0, space), &t.encoding);
  if (space == std::string_view::npos) return t;
  const std::string_view s = line.substr(space + 1);
  t.rest = s;
  std::size_t at = 0;
  // Operands are separated by commas; what follows the last one is modifiers.
  bool operand = true;
  while (at < s.size()) {
    while (at < s.size() && IsSpace(s[at])) ++at;
    const std::size_t end = WordEnd(s, at);
    if (end == at) {  // a stray comma
      ++at;
      continue;
    }
    const std::string_view word = s.substr(at, end - at);
    // A value may stand a space behind its name ("row_mask: 0xf").
    if (operand) {
      t.operands.emplace_back(word);
    } else {
      const std::size_t colon = word.find(':');
      if (colon == std::string_view::npos) {
        t.modifiers.emplace_back(word, "");
      } else {
        t.modifiers.emplace_back(word.substr(0, colon), word.substr(colon + 1));
      }
    }
    at = end;
    while (at < s.size() && IsSpace(s[at])) ++at;
    operand = at < s.size() && s[at] == ',';
    if (operand) ++at;
  }
  return t;
}

const std::string* Text::Find(std::string_view name) const {
  for (const auto& [key, value] : modifiers) {
    if (key == name) return &value;
  }
  return nullptr;
}

i64 Text::Number(std::string_view name, i64 otherwise) const {
  const std::string* v = Find(name);
  i64 n = 0;
  return v != nullptr && ParseInt(*v, &n) ? n : otherwise;
}

std::string_view StripEncoding(std::string_view mnemonic,
                               std::string* encoding) {
  static constexpr std::string_view kSuffixes[] = {
      "_e64_dpp", "_dpp8", "_dpp", "_sdwa", "_e32", "_e64", "_e96"};
  for (const std::string_view suffix : kSuffixes) {
    if (mnemonic.ends_with(suffix)) {
      if (encoding != nullptr) *encoding = suffix.substr(1);
      return mnemonic.substr(0, mnemonic.size() - suffix.size());
    }
  }
  return mnemonic;
}

std::string_view CanonicalName(std::string_view name, Gen gen) {
  static const std::unordered_map<std::string_view, std::string_view> kAlias = {
      {"v_add_u32", "v_add_nc_u32"},
      {"v_sub_u32", "v_sub_nc_u32"},
      {"v_subrev_u32", "v_subrev_nc_u32"},
      {"v_add_i32", "v_add_nc_i32"},
      {"v_sub_i32", "v_sub_nc_i32"},
      {"v_addc_co_u32", "v_add_co_ci_u32"},
      {"v_subb_co_u32", "v_sub_co_ci_u32"},
      {"v_subbrev_co_u32", "v_subrev_co_ci_u32"},
      {"v_ffbh_u32", "v_clz_i32_u32"},
      {"v_ffbl_b32", "v_ctz_i32_b32"},
      {"v_ffbh_i32", "v_cls_i32"},
      {"v_add_u16", "v_add_nc_u16"},
      {"v_sub_u16", "v_sub_nc_u16"},
      {"v_subrev_u16", "v_subrev_nc_u16"},
      {"v_add_i16", "v_add_nc_i16"},
      {"v_sub_i16", "v_sub_nc_i16"},
      {"v_cvt_rpi_i32_f32", "v_cvt_nearest_i32_f32"},
      {"v_cvt_flr_i32_f32", "v_cvt_floor_i32_f32"},
      {"v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32"},
      {"v_cvt_pknorm_i16_f16", "v_cvt_pk_norm_i16_f16"},
      {"v_cvt_pknorm_u16_f16", "v_cvt_pk_norm_u16_f16"},
      {"v_cvt_pknorm_i16_f32", "v_cvt_pk_norm_i16_f32"},
      {"v_cvt_pknorm_u16_f32", "v_cvt_pk_norm_u16_f32"},
      {"v_mul_legacy_f32", "v_mul_dx9_zero_f32"},
      {"v_fma_legacy_f32", "v_fma_dx9_zero_f32"},
      {"v_fmac_legacy_f32", "v_fmac_dx9_zero_f32"},
      {"v_bcnt_u32_b32", "v_bcnt_u32_b32"},
      {"v_mad_co_u64_u32", "v_mad_u64_u32"},
      {"v_mad_co_i64_i32", "v_mad_i64_i32"},
      {"v_sub_co_u32", "v_sub_co_u32"},
      {"v_sat_pk_u8_i16", "v_sat_pk_u8_i16"},
      {"v_movrelsd_2_b32", "v_movrelsd_2_b32"},
      {"s_ff1_i32_b32", "s_ctz_i32_b32"},
      {"s_ff1_i32_b64", "s_ctz_i32_b64"},
      {"s_flbit_i32_b32", "s_clz_i32_u32"},
      {"s_flbit_i32_b64", "s_clz_i32_u64"},
      {"s_flbit_i32", "s_cls_i32"},
      {"s_flbit_i32_i64", "s_cls_i32_i64"},
      {"s_andn2_b32", "s_and_not1_b32"},
      {"s_andn2_b64", "s_and_not1_b64"},
      {"s_orn2_b32", "s_or_not1_b32"},
      {"s_orn2_b64", "s_or_not1_b64"},
      {"s_andn2_saveexec_b32", "s_and_not1_saveexec_b32"},
      {"s_andn2_saveexec_b64", "s_and_not1_saveexec_b64"},
      {"s_orn2_saveexec_b32", "s_or_not1_saveexec_b32"},
      {"s_orn2_saveexec_b64", "s_or_not1_saveexec_b64"},
      {"s_andn1_saveexec_b32", "s_and_not0_saveexec_b32"},
      {"s_andn1_saveexec_b64", "s_and_not0_saveexec_b64"},
      {"s_orn1_saveexec_b32", "s_or_not0_saveexec_b32"},
      {"s_orn1_saveexec_b64", "s_or_not0_saveexec_b64"},
      {"s_andn1_wrexec_b32", "s_and_not0_wrexec_b32"},
      {"s_andn1_wrexec_b64", "s_and_not0_wrexec_b64"},
      {"s_andn2_wrexec_b32", "s_and_not1_wrexec_b32"},
      {"s_andn2_wrexec_b64", "s_and_not1_wrexec_b64"},
      {"s_add_co_u32", "s_add_u32"},
      {"s_sub_co_u32", "s_sub_u32"},
      {"s_add_co_i32", "s_add_i32"},
      {"s_sub_co_i32", "s_sub_i32"},
      {"s_add_co_ci_u32", "s_addc_u32"},
      {"s_sub_co_ci_u32", "s_subb_u32"},
      {"s_addk_co_i32", "s_addk_i32"},
      {"s_get_pc_i64", "s_getpc_b64"},
      {"s_set_pc_i64", "s_setpc_b64"},
      {"s_swap_pc_i64", "s_swappc_b64"},
      {"s_call_i64", "s_call_b64"},
  };
  (void)gen;
  const auto it = kAlias.find(name);
  return it == kAlias.end() ? name : it->second;
}

}  // namespace cerberus::emulator
