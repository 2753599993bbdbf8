# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libauth.a
libauth_a_CFLAGS = $(AM_CFLAGS) $(CJOSE_CFLAGS)
libauth_a_SOURCES = \
	src/auth/cache.c src/auth/cache.h \
	src/auth/claims.c src/auth/claims.h \
	src/auth/jwt.c src/auth/jwt.h \
	src/auth/opaque.c src/auth/opaque.h \
	src/auth/paseto.c src/auth/paseto.h \
	src/auth/verifier.c src/auth/verifier.h
