# SPDX-License-Identifier: Apache-2.0
# Unit tests are Criterion programs, one per noun: t/NNN-area.c. `make check` builds and runs them; the
# tests that need a running server are started by ./check.

# Test programs that must be clean under -fsanitize=thread as well; rooms add theirs.
TSAN_TESTS =

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

# Configuration, with drivers that only have options; and a server whose workers speak no gRPC, for
# the tests of the master (t/5*.py).
if HAVE_CRITERION
config_tests = t/100-scalar t/101-config-errors t/102-config
check_PROGRAMS += $(config_tests)
TESTS += $(config_tests)
endif
config_test_cppflags = $(AM_CPPFLAGS) -I$(srcdir)/t/lib
config_test_libs = libconfig.a libcore.a libbase.a $(YAML_LIBS) $(CRITERION_LIBS) $(JANSSON_LIBS) $(LIBS)
config_test_lib = t/lib/config_case.c t/lib/config_case.h t/lib/stub_driver.c t/lib/stub_driver.h
t_100_scalar_SOURCES = t/100-scalar.c
t_100_scalar_CFLAGS = $(core_test_cflags)
t_100_scalar_LDADD = $(config_test_libs)
t_101_config_errors_SOURCES = t/101-config-errors.c $(config_test_lib)
t_101_config_errors_CPPFLAGS = $(config_test_cppflags)
t_101_config_errors_CFLAGS = $(core_test_cflags)
t_101_config_errors_LDADD = $(config_test_libs)
t_102_config_SOURCES = t/102-config.c $(config_test_lib)
t_102_config_CPPFLAGS = $(config_test_cppflags)
t_102_config_CFLAGS = $(core_test_cflags)
t_102_config_LDADD = $(config_test_libs)

check_PROGRAMS += t/stub-leased
t_stub_leased_SOURCES = src/main.c t/lib/stub_driver.c t/lib/stub_driver.h t/lib/stub_worker.c
t_stub_leased_CPPFLAGS = $(config_test_cppflags)
t_stub_leased_LDADD = libmaster.a libadmin.a libconfig.a libauth.a libpg.a libcore.a libbase.a $(PQ_LIBS) $(CJOSE_LIBS) $(MICROHTTPD_LIBS) $(YAML_LIBS) $(JANSSON_LIBS) $(LIBS)

# For ./check and ./quickstart: the published proto as a stock Python client sees it, and the names of
# the test programs.
EXTRA_DIST += check quickstart
python_stubs = t/py/mindd/lease/v1/lease_pb2.py
CLEANFILES += $(python_stubs) t/py/mindd/lease/v1/lease_pb2_grpc.py
.PHONY: python-stubs print-tests
python-stubs: $(python_stubs)
$(python_stubs): $(lease_proto)
	@$(MKDIR_P) t/py
	$(AM_V_GEN)$(PROTOC) -I$(srcdir)/proto --python_out=t/py --grpc_python_out=t/py \
		--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin mindd/lease/v1/lease.proto
print-tests:
	@echo $(TESTS)

# What the tests in Python need beside the server.
.PHONY: test-tools
test-tools: python-stubs t/wallstep.so
CLEANFILES += t/wallstep.so
EXTRA_DIST += t/lib/wallstep.c
t/wallstep.so: t/lib/wallstep.c
	@$(MKDIR_P) t
	$(AM_V_GEN)$(CC) -std=c17 $(WARNINGS) -O2 -fPIC -shared -o $@ $(srcdir)/t/lib/wallstep.c

# The real server on a table without sharing (one worker): for the tests of the gRPC side alone.
check_PROGRAMS += t/plain-leased
t_plain_leased_SOURCES = src/main.c t/lib/plain_driver.c t/lib/plain_driver.h
t_plain_leased_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/t/lib
t_plain_leased_LDADD = libmaster.a libadmin.a libworker.a libproto.a libconfig.a libauth.a libpg.a libcore.a libbase.a \
	$(GRPC_LIBS) $(PROTOBUF_C_LIBS) $(PQ_LIBS) $(YAML_LIBS) $(JANSSON_LIBS) $(CJOSE_LIBS) $(MICROHTTPD_LIBS) $(LIBS)
.PHONY: print-tsan-tests
print-tsan-tests:
	@echo $(TSAN_TESTS)

# The memory driver (t/2*).
if HAVE_CRITERION
shm_tests = t/200-memory-basics t/201-memory-waiters t/202-memory-full t/203-memory-restart \
	t/204-memory-processes t/205-memory-stopped t/210-memory-kill t/211-memory-kill-unlogged \
	t/220-memory-threads
check_PROGRAMS += $(shm_tests)
TESTS += $(shm_tests)
endif
shm_test_cppflags = $(AM_CPPFLAGS) -I$(srcdir)/t/lib
shm_test_libs = libshm.a libcore.a libbase.a $(CRITERION_LIBS) $(JANSSON_LIBS) $(LIBS)
shm_test_lib = t/lib/shm_case.c t/lib/shm_case.h
t_200_memory_basics_SOURCES = t/200-memory-basics.c $(shm_test_lib)
t_200_memory_basics_CPPFLAGS = $(shm_test_cppflags)
t_200_memory_basics_CFLAGS = $(core_test_cflags)
t_200_memory_basics_LDADD = $(shm_test_libs)
t_201_memory_waiters_SOURCES = t/201-memory-waiters.c $(shm_test_lib)
t_201_memory_waiters_CPPFLAGS = $(shm_test_cppflags)
t_201_memory_waiters_CFLAGS = $(core_test_cflags)
t_201_memory_waiters_LDADD = $(shm_test_libs)
shm_kill_lib = t/lib/segcheck.c t/lib/segcheck.h t/lib/shm_kill.c t/lib/shm_kill.h
t_202_memory_full_SOURCES = t/202-memory-full.c $(shm_test_lib) t/lib/segcheck.c t/lib/segcheck.h
t_202_memory_full_CPPFLAGS = $(shm_test_cppflags)
t_202_memory_full_CFLAGS = $(core_test_cflags)
t_202_memory_full_LDADD = $(shm_test_libs)
t_203_memory_restart_SOURCES = t/203-memory-restart.c $(shm_test_lib) t/lib/segcheck.c t/lib/segcheck.h
t_203_memory_restart_CPPFLAGS = $(shm_test_cppflags)
t_203_memory_restart_CFLAGS = $(core_test_cflags)
t_203_memory_restart_LDADD = $(shm_test_libs)
t_204_memory_processes_SOURCES = t/204-memory-processes.c $(shm_test_lib) $(shm_kill_lib) \
	t/lib/shm_process.c t/lib/shm_process.h
t_204_memory_processes_CPPFLAGS = $(shm_test_cppflags)
t_204_memory_processes_CFLAGS = $(core_test_cflags)
t_204_memory_processes_LDADD = $(shm_test_libs)
t_205_memory_stopped_SOURCES = t/205-memory-stopped.c $(shm_test_lib) $(shm_kill_lib)
t_205_memory_stopped_CPPFLAGS = $(shm_test_cppflags)
t_205_memory_stopped_CFLAGS = $(core_test_cflags)
t_205_memory_stopped_LDADD = $(shm_test_libs)
t_210_memory_kill_SOURCES = t/210-memory-kill.c $(shm_test_lib) $(shm_kill_lib)
t_210_memory_kill_CPPFLAGS = $(shm_test_cppflags)
t_210_memory_kill_CFLAGS = $(core_test_cflags)
t_210_memory_kill_LDADD = $(shm_test_libs)
# The test of the test: without the log of changes the same deaths must break the table.
EXTRA_LIBRARIES += libshm_unlogged.a
libshm_unlogged_a_SOURCES = $(libshm_a_SOURCES)
libshm_unlogged_a_CPPFLAGS = $(AM_CPPFLAGS) -DSHM_BREAK_UNDO
t_211_memory_kill_unlogged_SOURCES = $(t_210_memory_kill_SOURCES)
t_211_memory_kill_unlogged_CPPFLAGS = $(shm_test_cppflags) -DSHM_BREAK_UNDO
t_211_memory_kill_unlogged_CFLAGS = $(core_test_cflags)
t_211_memory_kill_unlogged_LDADD = libshm_unlogged.a libcore.a libbase.a $(CRITERION_LIBS) \
	$(JANSSON_LIBS) $(LIBS)
# Threads stand in for processes: also built with -fsanitize=thread.
TSAN_TESTS += t/220-memory-threads
t_220_memory_threads_SOURCES = t/220-memory-threads.c $(shm_test_lib)
t_220_memory_threads_CPPFLAGS = $(shm_test_cppflags)
t_220_memory_threads_CFLAGS = $(core_test_cflags)
t_220_memory_threads_LDADD = libshm.a libcore.a libbase.a $(JANSSON_LIBS) $(LIBS)

# The postgres driver (t/7*-pg-*): each program starts a Postgres of its own.
if HAVE_CRITERION
pg_tests = t/700-pg-basics t/701-pg-waiters t/702-pg-groups t/710-pg-faults t/711-pg-outage \
	t/720-pg-threads
check_PROGRAMS += $(pg_tests)
TESTS += $(pg_tests)
endif
EXTRA_DIST += t/lib/postgres.sh t/CASES
pg_test_cppflags = $(AM_CPPFLAGS) -I$(srcdir)/t/lib $(PQ_CFLAGS) \
	-DPOSTGRES_SH='"$(abs_top_srcdir)/t/lib/postgres.sh"'
pg_test_libs = libpg.a libcore.a libbase.a $(PQ_LIBS) $(CRITERION_LIBS) $(JANSSON_LIBS) $(LIBS)
pg_case_lib = t/lib/pg_case.c t/lib/pg_case.h t/lib/pg_server.c t/lib/pg_server.h
pg_test_lib = $(pg_case_lib) t/lib/pg_hooks.c
t_700_pg_basics_SOURCES = t/700-pg-basics.c $(pg_test_lib)
t_700_pg_basics_CPPFLAGS = $(pg_test_cppflags)
t_700_pg_basics_CFLAGS = $(core_test_cflags)
t_700_pg_basics_LDADD = $(pg_test_libs)
t_701_pg_waiters_SOURCES = t/701-pg-waiters.c $(pg_test_lib)
t_701_pg_waiters_CPPFLAGS = $(pg_test_cppflags)
t_701_pg_waiters_CFLAGS = $(core_test_cflags)
t_701_pg_waiters_LDADD = $(pg_test_libs)
t_702_pg_groups_SOURCES = t/702-pg-groups.c $(pg_test_lib)
t_702_pg_groups_CPPFLAGS = $(pg_test_cppflags)
t_702_pg_groups_CFLAGS = $(core_test_cflags)
t_702_pg_groups_LDADD = $(pg_test_libs)
t_710_pg_faults_SOURCES = t/710-pg-faults.c $(pg_test_lib)
t_710_pg_faults_CPPFLAGS = $(pg_test_cppflags)
t_710_pg_faults_CFLAGS = $(core_test_cflags)
t_710_pg_faults_LDADD = $(pg_test_libs)
t_711_pg_outage_SOURCES = t/711-pg-outage.c $(pg_test_lib)
t_711_pg_outage_CPPFLAGS = $(pg_test_cppflags)
t_711_pg_outage_CFLAGS = $(core_test_cflags)
t_711_pg_outage_LDADD = $(pg_test_libs)
# The event loop and the I/O thread: also built with -fsanitize=thread.
TSAN_TESTS += t/720-pg-threads
t_720_pg_threads_SOURCES = t/720-pg-threads.c $(pg_case_lib)
t_720_pg_threads_CPPFLAGS = $(pg_test_cppflags)
t_720_pg_threads_CFLAGS = $(core_test_cflags)
t_720_pg_threads_LDADD = libpg.a libcore.a libbase.a $(PQ_LIBS) $(JANSSON_LIBS) $(LIBS)

# The steps of a call one by one, for t/230-instructions.py.
check_PROGRAMS += t/hot-path
t_hot_path_SOURCES = t/lib/hot_path.c $(shm_test_lib)
t_hot_path_CPPFLAGS = $(shm_test_cppflags)
t_hot_path_CFLAGS = $(core_test_cflags) $(GRPC_CFLAGS)
t_hot_path_LDADD = libworker.a libproto.a libshm.a libcore.a libbase.a \
	$(GRPC_LIBS) $(PROTOBUF_C_LIBS) $(JANSSON_LIBS) $(LIBS)
EXTRA_DIST += t/lib/instructions.txt

# Capabilities (t/4*).
if HAVE_CRITERION
check_PROGRAMS += t/410-auth
TESTS += t/410-auth
endif
t_410_auth_SOURCES = t/410-auth.c
t_410_auth_CFLAGS = $(core_test_cflags)
t_410_auth_LDADD = libauth.a libcore.a libbase.a $(CRITERION_LIBS) $(JANSSON_LIBS) $(CJOSE_LIBS) $(LIBS)
