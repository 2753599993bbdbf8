# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libauth.a
libauth_a_SOURCES = \
	src/auth/opaque.c src/auth/opaque.h \
	src/auth/verifier.c src/auth/verifier.h
