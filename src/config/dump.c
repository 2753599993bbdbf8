/* SPDX-License-Identifier: Apache-2.0
 *
 * The effective configuration as YAML, along the schema, so that no key can be forgotten. What is
 * not set and has no default stands as a comment: written out it would mean something. */
#include <string.h>

#include <unistr.h>

#include "config/dsn.h"
#include "config/reader.h"
#include "config/scalar.h"
#include "config/utf8.h"

#define MASK "********"

enum { DSN_SHOWN = 4096 };

static void put_indent(FILE *out, unsigned depth)
{
	fprintf(out, "%*s", (int)depth * 2, "");
}

/* A character that does not print, as YAML escapes it. */
static void put_escape(FILE *out, struct bytes text, size_t at)
{
	ucs4_t code;

	if (u8_mbtoucr(&code, text.data + at, text.len - at) <= 0)
		code = text.data[at];
	if (code <= 0xff)
		fprintf(out, "\\x%02x", (unsigned)code);
	else if (code <= 0xffff)
		fprintf(out, "\\u%04x", (unsigned)code);
	else
		fprintf(out, "\\U%08x", (unsigned)code);
}

/* Always quoted: no text can then be taken for anything but itself. */
static void put_text(FILE *out, struct bytes text)
{
	fputc('"', out);
	for (size_t at = 0; at < text.len;) {
		size_t length = utf8_length(text, at);

		if (text.data[at] == '"' || text.data[at] == '\\')
			fprintf(out, "\\%c", text.data[at]);
		else if (utf8_printable(text, at))
			fwrite(text.data + at, 1, length, out);
		else
			put_escape(out, text, at);
		at += length;
	}
	fputc('"', out);
}

static void put_dsn(FILE *out, const char *dsn)
{
	char masked[DSN_SHOWN];

	dsn_mask(dsn, MASK, masked, sizeof masked);
	put_text(out, bytes_of(masked));
}

/* A value that is set, or has a default, as its kind is written. */
static void put_value(FILE *out, const struct option_spec *spec, union option_value value)
{
	char duration[48];

	switch (spec->kind) {
	case OPTION_TEXT:
		if (strcmp(spec->name, "dsn") == 0)
			put_dsn(out, value.text);
		else
			put_text(out, bytes_of(value.text));
		break;
	case OPTION_SECRET:
		fputs("\"" MASK "\"", out);
		break;
	case OPTION_COUNT:
		fprintf(out, "%lld", (long long)value.number);
		break;
	case OPTION_DURATION:
		scalar_duration_format(value.number, duration, sizeof duration);
		fputs(duration, out);
		break;
	case OPTION_BOOL:
		fputs(value.number ? "true" : "false", out);
		break;
	case OPTION_CHOICE:
		fputs(spec->choices[value.number], out);
		break;
	}
}

static bool is_set(const struct option_spec *spec, union option_value value)
{
	if (spec->kind == OPTION_TEXT || spec->kind == OPTION_SECRET)
		return value.text != NULL;
	return spec->kind != OPTION_CHOICE || value.number != CHOICE_UNSET;
}

static void put_key(FILE *out, unsigned depth, const struct option_spec *spec,
		    union option_value value)
{
	put_indent(out, depth);
	if (!is_set(spec, value)) {
		fprintf(out, "# %s: not set\n", spec->name);
		return;
	}
	fprintf(out, "%s: ", spec->name);
	put_value(out, spec, value);
	fputc('\n', out);
}

static void put_list(FILE *out, unsigned depth, const char *name, const char **texts)
{
	put_indent(out, depth);
	fprintf(out, "%s:%s\n", name, *texts ? "" : " []");
	for (; *texts; texts++) {
		put_indent(out, depth + 1);
		fputs("- ", out);
		put_text(out, bytes_of(*texts));
		fputc('\n', out);
	}
}

static void put_backends(FILE *out, const struct settings *settings)
{
	fprintf(out, "backends:%s\n", settings->backend_count ? "" : " []");
	for (size_t i = 0; i < settings->backend_count; i++) {
		const struct backend_settings *backend = &settings->backend[i];

		fprintf(out, "  - name: \"%s\"\n    driver: %s\n    options:\n", backend->name,
			backend->driver->name);
		for (size_t j = 0; backend->driver->options[j].name; j++)
			put_key(out, 3, &backend->driver->options[j], backend->value[j]);
	}
}

static void put_namespaces(FILE *out, const struct settings *settings)
{
	fprintf(out, "namespaces:%s\n", settings->namespace_count ? "" : " []");
	for (size_t i = 0; i < settings->namespace_count; i++) {
		fputs("  - block: lease\n    name: ", out);
		put_text(out, settings->name_space[i].name);
		fprintf(out, "\n    backend: \"%s\"\n",
			settings->backend[settings->name_space[i].backend].name);
	}
}

static void put_unset(FILE *out, unsigned depth, const char *name)
{
	put_indent(out, depth);
	fprintf(out, "# %s: not set\n", name);
}

static void put_paseto_keys(FILE *out, unsigned depth, const char *name,
			    const struct auth_settings *auth)
{
	if (auth->format != AUTH_PASETO) {
		put_unset(out, depth, name);
		return;
	}
	put_indent(out, depth);
	fprintf(out, "%s:\n", name);
	for (size_t i = 0; i < auth->key_count; i++) {
		put_indent(out, depth + 1);
		fputs("- \"", out);
		for (size_t j = 0; j < auth->key[i].data.len; j++)
			fprintf(out, "%02x", auth->key[i].data.data[j]);
		fputs("\"\n", out);
	}
}

static void put_jwt_keys(FILE *out, unsigned depth, const char *name, const struct config *config)
{
	const struct auth_settings *auth = &config->settings.auth;

	if (auth->format != AUTH_JWT) {
		put_unset(out, depth, name);
		return;
	}
	put_indent(out, depth);
	fprintf(out, "%s:\n", name);
	for (size_t i = 0; i < auth->key_count; i++) {
		put_indent(out, depth + 1);
		fprintf(out, "- alg: %s\n", config->jwt_key[i].algorithm);
		put_indent(out, depth + 2);
		fputs("file: ", out);
		put_text(out, bytes_of(config->jwt_key[i].file));
		fputc('\n', out);
	}
}

/* What the server really runs with, where that is more than what the file said. */
static union option_value effective(const struct config *config, enum value_id id)
{
	const struct settings *settings = &config->settings;
	union option_value value = config->value[id];

	if (id == VALUE_WORKERS)
		value.number = settings->workers;
	else if (id == VALUE_STATE_DIR)
		value.text = settings->state_dir;
	else if (id == VALUE_LOG_TARGET)
		value.number = settings->log_target;
	return value;
}

/* A TLS key that is written is refused, so its default stands as a comment too. */
static bool refused(enum value_id id)
{
	return id <= VALUE_REQUIRE_CLIENT_CERT;
}

static void put_section(FILE *out, unsigned depth, const struct schema_key *keys,
			const struct config *config)
{
	for (; keys->name; keys++) {
		switch (keys->kind) {
		case SCHEMA_SECTION:
			put_indent(out, depth);
			fprintf(out, "%s:\n", keys->name);
			put_section(out, depth + 1, keys->keys, config);
			break;
		case SCHEMA_VALUE:
			if (refused(keys->value)) {
				put_indent(out, depth);
				fprintf(out, "# %s: not supported yet\n", keys->name);
				break;
			}
			put_key(out, depth, &schema_value[keys->value],
				effective(config, keys->value));
			break;
		case SCHEMA_TCP:
			put_list(out, depth, keys->name, config->tcp);
			break;
		case SCHEMA_UDS:
			put_list(out, depth, keys->name, config->uds);
			break;
		case SCHEMA_BACKENDS:
			put_backends(out, &config->settings);
			break;
		case SCHEMA_NAMESPACES:
			put_namespaces(out, &config->settings);
			break;
		case SCHEMA_PASETO_KEY:
			put_indent(out, depth);
			fprintf(out, "# %s: see public_key_hexes\n", keys->name);
			break;
		case SCHEMA_PASETO_KEYS:
			put_paseto_keys(out, depth, keys->name, &config->settings.auth);
			break;
		case SCHEMA_JWT_KEYS:
			put_jwt_keys(out, depth, keys->name, config);
			break;
		}
	}
}

bool config_dump(const struct settings *settings, FILE *out)
{
	put_section(out, 0, schema_root, (const struct config *)settings);
	return fflush(out) == 0 && !ferror(out);
}
