/* export.h: what the library exports, and results that must be read. */
#ifndef EPDX_EXPORT_H
#define EPDX_EXPORT_H

#define EPDX_API          __attribute__((visibility("default")))
#define EPDX_MUST_CHECK   __attribute__((warn_unused_result))
#define EPDX_PRINTF(f, a) __attribute__((format(printf, f, a)))

#endif
