/* SPDX-License-Identifier: Apache-2.0
 *
 * A new file for a running server: sockets, backends and the state directory are what the workers
 * were born with, and stay. The order of the backends stays too, since workers know them by index.
 */
#include <string.h>

#include "config/reader.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const char **a, const char **b)
{
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return *a == *b;
}

static bool same_value(const struct option_spec *spec, union option_value a, union option_value b)
{
	return spec->kind == OPTION_TEXT || spec->kind == OPTION_SECRET ? same_text(a.text, b.text)
									: a.number == b.number;
}

static const struct backend_settings *find(const struct settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->backend_count; i++)
		if (strcmp(settings->backend[i].name, name) == 0)
			return &settings->backend[i];
	return NULL;
}

static bool same_backends(const struct settings *a, const struct settings *b)
{
	if (a->backend_count != b->backend_count)
		return false;
	for (size_t i = 0; i < a->backend_count; i++) {
		const struct backend_settings *one = &a->backend[i], *two = find(b, one->name);

		if (!two || one->driver != two->driver)
			return false;
		for (size_t j = 0; one->driver->options[j].name; j++)
			if (!same_value(&one->driver->options[j], one->value[j], two->value[j]))
				return false;
	}
	return true;
}

/* Points the namespaces at the backends that run; those on others wait for the restart. */
static void keep_known(struct settings *settings, const struct settings *old)
{
	size_t kept = 0;

	for (size_t i = 0; i < settings->namespace_count; i++) {
		struct namespace_settings entry = settings->name_space[i];
		const struct backend_settings *wanted = &settings->backend[entry.backend];
		const struct backend_settings *running = find(old, wanted->name);

		if (!running || running->driver != wanted->driver)
			continue;
		entry.backend = (size_t)(running - old->backend);
		settings->name_space[kept++] = entry;
	}
	settings->namespace_count = kept;
}

/* Copies stop at the first failure; `good` tells. */
struct copier {
	struct arena *arena;
	bool good;
};

static void *copy(struct copier *copier, const void *data, size_t size)
{
	struct bytes copied =
	    arena_copy(copier->arena, (struct bytes){(const uint8_t *)data, size});

	copier->good = copier->good && copied.data;
	return (void *)(uintptr_t)copied.data;
}

static const char *copy_text(struct copier *copier, const char *text)
{
	return text ? copy(copier, text, strlen(text) + 1) : NULL;
}

static const char **copy_list(struct copier *copier, const char **list)
{
	size_t count = 0;
	const char **texts;

	while (list[count])
		count++;
	texts = copy(copier, list, (count + 1) * sizeof *list);
	for (size_t i = 0; texts && i < count; i++)
		texts[i] = copy_text(copier, texts[i]);
	return texts;
}

static void copy_listen(struct copier *copier, struct settings *settings,
			const struct settings *old)
{
	struct listen_settings *listen =
	    copy(copier, old->listen, old->listen_count * sizeof *listen);

	for (size_t i = 0; listen && i < old->listen_count; i++) {
		listen[i].host = copy_text(copier, listen[i].host);
		listen[i].port = copy_text(copier, listen[i].port);
		listen[i].path = copy_text(copier, listen[i].path);
		listen[i].text = copy_text(copier, listen[i].text);
	}
	settings->listen = listen;
	settings->listen_count = old->listen_count;
}

static const union option_value *copy_values(struct copier *copier,
					     const struct backend_settings *backend)
{
	const struct option_spec *spec = backend->driver->options;
	union option_value *value;
	size_t count = 0;

	while (spec[count].name)
		count++;
	value = copy(copier, backend->value, count * sizeof *value);
	for (size_t i = 0; value && i < count; i++)
		if (spec[i].kind == OPTION_TEXT || spec[i].kind == OPTION_SECRET)
			value[i].text = copy_text(copier, value[i].text);
	return value;
}

static void copy_backends(struct copier *copier, struct settings *settings,
			  const struct settings *old)
{
	struct backend_settings *backend =
	    copy(copier, old->backend, old->backend_count * sizeof *backend);

	for (size_t i = 0; backend && i < old->backend_count; i++) {
		backend[i].name = copy_text(copier, backend[i].name);
		backend[i].value = copy_values(copier, &backend[i]);
	}
	settings->backend = backend;
	settings->backend_count = old->backend_count;
}

bool renew_pin(struct config *config, const struct config *old)
{
	struct copier copier = {&config->arena, true};
	struct settings *settings = &config->settings;
	size_t count = 0;

	if (!same_list(config->tcp, old->tcp) || !same_list(config->uds, old->uds))
		config->restart[count++] = "server.grpc";
	if (!same_text(settings->metrics.text, old->settings.metrics.text) ||
	    !same_text(settings->metrics_path, old->settings.metrics_path))
		config->restart[count++] = "observability.metrics.prometheus";
	if (!same_text(settings->state_dir, old->settings.state_dir))
		config->restart[count++] = "server.state_dir";
	if (!same_backends(settings, &old->settings))
		config->restart[count++] = "backends";
	config->restart[count] = NULL;
	keep_known(settings, &old->settings);
	copy_listen(&copier, settings, &old->settings);
	copy_backends(&copier, settings, &old->settings);
	config->tcp = copy_list(&copier, old->tcp);
	config->uds = copy_list(&copier, old->uds);
	config->address = copy_text(&copier, old->address);
	settings->metrics =
	    (struct listen_settings){.kind = LISTEN_TCP,
				     .host = copy_text(&copier, old->settings.metrics.host),
				     .port = copy_text(&copier, old->settings.metrics.port),
				     .text = copy_text(&copier, old->settings.metrics.text)};
	settings->metrics_path = copy_text(&copier, old->settings.metrics_path);
	settings->state_dir = copy_text(&copier, old->settings.state_dir);
	return copier.good;
}
