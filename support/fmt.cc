// fmt's functions, compiled here and nowhere else: Debian has them only as a
// shared library, which users would have to install, and header-only they cost
// each file that formats anything a second and a half of compiling.
//
// Without std::locale: a fifth of the size of the driver stub, and of the time
// in which it is loaded. Only {:L} differs, which nobody asks for.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// What the headers declare and do not define, for the types of characters and
// numbers that they use: as fmt's own library does.
template FMT_API auto dragonbox::to_decimal(float value) noexcept
    -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double value) noexcept
    -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref)
    -> thousands_sep_result<char>;
template FMT_API auto thousands_sep_impl(locale_ref)
    -> thousands_sep_result<wchar_t>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API auto decimal_point_impl(locale_ref) -> wchar_t;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view, format_args,
                                 locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
