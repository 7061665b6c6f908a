/* text.c: strict numbers, host:port, bounded copies. Locale plays no part. */
#include "base/text.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool epi_text_copy(char *out, size_t size, const char *text)
{
    size_t length = strlen(text);
    size_t kept;

    if (size == 0) {
        return false;
    }
    kept = length < size ? length : size - 1;
    memcpy(out, text, kept);
    out[kept] = '\0';
    return kept == length;
}

void epi_text_format(char *out, size_t size, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(out, size, format, arguments);
    va_end(arguments);
}

bool epi_text_u64(const char *text, size_t length, uint64_t max,
                  uint64_t *value_p)
{
    uint64_t value = 0;

    if (length == 0 || (text[0] == '0' && length > 1)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i]) || !epi_mul_u64(value, 10, &value) ||
            !epi_add_u64(value, (uint64_t)(text[i] - '0'), &value)) {
            return false;
        }
    }
    if (value > max) {
        return false;
    }
    *value_p = value;
    return true;
}

bool epi_text_number(const char *text, uint64_t max, uint64_t *value_p)
{
    return epi_text_u64(text, strlen(text), max, value_p);
}

/* digits * 10^scale */
typedef struct decimal {
    uint64_t digits;
    int scale;
} decimal_t;

/* Add the digits at *text_p; false when they do not fit or there are none. */
static bool take_digits(const char **text_p, uint64_t *value_p, int *count_p)
{
    const char *text = *text_p;

    for (; is_digit(*text); text++) {
        if (!epi_mul_u64(*value_p, 10, value_p) ||
            !epi_add_u64(*value_p, (uint64_t)(*text - '0'), value_p)) {
            return false;
        }
    }
    *count_p = (int)(text - *text_p);
    *text_p = text;
    return *count_p > 0;
}

static bool take_exponent(const char *text, decimal_t *decimal)
{
    bool negative = *text == '-';
    uint64_t exponent = 0;

    if (*text == '-' || *text == '+') {
        text++;
    }
    /* Bounds the loops of scaled(); digits may be "0" times any power. */
    while (*text == '0' && is_digit(text[1])) {
        text++;
    }
    if (!epi_text_number(text, 99, &exponent)) {
        return false;
    }
    decimal->scale += negative ? -(int)exponent : (int)exponent;
    return true;
}

static bool parse_decimal(const char *text, decimal_t *decimal)
{
    int count;

    *decimal = (decimal_t){0, 0};
    if (!take_digits(&text, &decimal->digits, &count)) {
        return false;
    }
    if (*text == '.') {
        text++;
        if (!take_digits(&text, &decimal->digits, &count)) {
            return false;
        }
        decimal->scale = -count;
    }
    if (*text == 'e' || *text == 'E') {
        return take_exponent(text + 1, decimal);
    }
    return *text == '\0';
}

/* The whole number, rounded up: a short time must not become none. */
static bool scaled(decimal_t decimal, uint64_t *value_p)
{
    uint64_t value = decimal.digits;
    bool rest = false;

    for (; decimal.scale > 0 && value > 0; decimal.scale--) {
        if (!epi_mul_u64(value, 10, &value)) {
            return false;
        }
    }
    for (; decimal.scale < 0 && value > 0; decimal.scale++) {
        rest = rest || value % 10 != 0;
        value /= 10;
    }
    *value_p = value + rest;
    return true;
}

bool epi_text_seconds(const char *text, uint64_t *nanoseconds_p)
{
    decimal_t decimal;
    uint64_t value;

    if (!parse_decimal(text, &decimal)) {
        return false;
    }
    decimal.scale += 9;
    if (!scaled(decimal, &value) || value > UINT64_C(1000000000) * EPI_S) {
        return false;
    }
    *nanoseconds_p = value;
    return true;
}

static bool host_allowed(const char *host, size_t length)
{
    if (length == 0 || length > EPDX_ADDRESS_MAX ||
        !epi_text_printable(host, length)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (strchr("/?#@%[]", host[i]) != NULL) {
            return false;
        }
    }
    return true;
}

bool epi_address_parse(const char *text, epi_address_t *address_p)
{
    const char *colon = strrchr(text, ':');
    const char *host = text;
    size_t length;
    uint64_t port;

    if (colon == NULL || !epi_text_number(colon + 1, UINT16_MAX, &port)) {
        return false;
    }
    length = (size_t)(colon - text);
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    if (!host_allowed(host, length)) {
        return false;
    }
    memcpy(address_p->host, host, length);
    address_p->host[length] = '\0';
    address_p->port = (uint16_t)port;
    return true;
}

bool epi_address_format(const char *host, uint16_t port, char *out, size_t size)
{
    bool brackets = strchr(host, ':') != NULL;
    int length;

    if (size == 0) {
        return false;
    }
    length = brackets ? snprintf(out, size, "[%s]:%u", host, port)
                      : snprintf(out, size, "%s:%u", host, port);
    return length >= 0 && (size_t)length < size;
}

bool epi_address_wildcard(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (host[0] == '\0' || strcmp(host, "*") == 0 ||
        strcmp(host, "[::]") == 0) {
        return true;
    }
    if (inet_pton(AF_INET, host, &v4) == 1) {
        return v4.s_addr == INADDR_ANY;
    }
    if (inet_pton(AF_INET6, host, &v6) != 1) {
        return false;
    }
    /* ::ffff:0.0.0.0 binds every IPv4 interface. */
    return IN6_IS_ADDR_UNSPECIFIED(&v6) ||
           (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr32[3] == 0);
}

bool epi_text_quotable(const char *text, size_t max)
{
    size_t length = 0;

    for (; text[length] != '\0'; length++) {
        if ((unsigned char)text[length] < 0x20 || text[length] == 0x7f ||
            length == max) {
            return false;
        }
    }
    return length > 0;
}

bool epi_text_printable(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] < 0x21 || text[i] > 0x7e) {
            return false;
        }
    }
    return length > 0;
}

void epi_text_show(char *out, size_t size, const char *text)
{
    size_t used = 0;

    /* Room for one byte more, and for what says that it was cut. */
    while (*text != '\0' && used + 4 + sizeof("...") <= size) {
        unsigned char byte = (unsigned char)*text++;

        if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\') {
            used += (size_t)snprintf(out + used, size - used, "\\x%02x", byte);
        } else {
            out[used++] = (char)byte;
        }
    }
    (void)snprintf(out + used, size - used, "%s", *text == '\0' ? "" : "...");
}
