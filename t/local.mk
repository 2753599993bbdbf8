# SPDX-License-Identifier: Apache-2.0
# Unit tests are Criterion programs, one per noun: t/NNN-area.c. `make check` builds and runs them; the
# tests that need a running server are started by ./check.
if HAVE_CRITERION
core_tests = t/020-base t/021-holder t/022-rules t/023-service
check_PROGRAMS += $(core_tests)
TESTS += $(core_tests)
endif

core_test_libs = libcore.a libbase.a $(CRITERION_LIBS) $(JANSSON_LIBS) $(LIBS)
core_test_cflags = $(AM_CFLAGS) $(CRITERION_CFLAGS)
t_020_base_SOURCES = t/020-base.c
t_020_base_CFLAGS = $(core_test_cflags)
t_020_base_LDADD = $(core_test_libs)
t_021_holder_SOURCES = t/021-holder.c
t_021_holder_CFLAGS = $(core_test_cflags)
t_021_holder_LDADD = $(core_test_libs)
t_022_rules_SOURCES = t/022-rules.c
t_022_rules_CFLAGS = $(core_test_cflags)
t_022_rules_LDADD = $(core_test_libs)
t_023_service_SOURCES = t/023-service.c
t_023_service_CFLAGS = $(core_test_cflags)
t_023_service_LDADD = $(core_test_libs)
