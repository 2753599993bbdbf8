/* SPDX-License-Identifier: Apache-2.0
 *
 * base/err.h - the one list of results. Every function that can fail returns enum err.
 * Translated to gRPC status only in worker/status.c, from SQLSTATE only in pg/. */
#ifndef LEASED_BASE_ERR_H
#define LEASED_BASE_ERR_H

enum err {
#define ERR(name, reason, text) ERR_##name,
#include "base/err.def"
#undef ERR
};

/* Fixed English text of an error; static storage. */
const char *err_text(enum err err);

/* Reason for google.rpc.ErrorInfo, "" when none is sent; static storage. */
const char *err_reason(enum err err);

#endif
