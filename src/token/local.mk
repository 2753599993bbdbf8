# SPDX-License-Identifier: Apache-2.0
# A program of its own above auth/ and config/, as main.c is.
bin_PROGRAMS += leased-token
leased_token_SOURCES = \
	src/token/main.c \
	src/token/opaque.c \
	src/token/signed.c \
	src/token/token.h
leased_token_LDADD = libauth.a libconfig.a libcore.a libbase.a $(JANSSON_LIBS) $(LIBS)
