package everyday

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/rest"
)

// listApplied returns the kinds in the order in which entities are added: each needs those before it. They are removed in the other order.
func listApplied() (list []entity) {
	for _, name := range []string{"service", "profile", "device", "watcher", "subscription"} {
		list = append(list, entities[slices.IndexFunc(entities, func(e entity) bool { return e.name == name })])
	}
	return list
}

// newSave returns the command that writes all entities to files.
func newSave() *cobra.Command {
	c := &cobra.Command{
		Use: "save DIR", Args: cobra.ExactArgs(1), Short: "Write all entities to a folder of YAML files, for ledge apply",
		Long: `Write all device services, profiles, devices, provision watchers and subscriptions to YAML files:
DIR/device/NAME.yaml and so on. A file of an entity that does not exist any more is removed from
these folders. Keep DIR in git, and apply it with ledge apply. See docs/everyday.md.`,
		Example: "  ledge save site\n  ledge save site --server https://edge-7 --token-file token",
	}
	return runOn(c, func(ctx context.Context, c *cobra.Command, api *rest.API) error {
		for _, e := range listApplied() {
			n, err := e.save(ctx, api, filepath.Join(c.Flags().Arg(0), e.name))
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%d %ss\n", n, e.about)
		}
		return nil
	})
}

// save writes the entities of a kind to a folder. It returns their number.
func (e entity) save(ctx context.Context, api *rest.API, dir string) (n int, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return 0, err
	}
	left := map[string]bool{}
	if err := eachFile(dir, func(path string) error { left[path] = true; return nil }); err != nil {
		return 0, err
	}
	err = api.List(ctx, e.kind, e.kind.Path+"/all", url.Values{}, 0, func(fields map[string]any) error {
		n++
		path := filepath.Join(dir, strings.ReplaceAll(url.PathEscape(fmt.Sprint(fields["name"])), ":", "%3A")+".yaml")
		delete(left, path)
		text, err := yaml.Marshal(rest.Settable(fields))
		if err != nil {
			return err
		}
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
			return nil
		}
		return os.WriteFile(path, text, 0o666)
	})
	for path := range left {
		if err == nil {
			err = os.Remove(path)
		}
	}
	return n, err
}

// eachFile calls f for each YAML or JSON file of a folder, by name. A folder that does not exist has none.
func eachFile(dir string, f func(path string) error) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range files {
		if err == nil && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file.Name())) {
			err = f(filepath.Join(dir, file.Name()))
		}
	}
	return err
}

// application is one run of apply.
type application struct {
	c                             *cobra.Command
	api                           *rest.API
	dry                           bool
	added, changed, removed, same int
	failed                        error
}

// newApply returns the command that makes entities as in files.
func newApply() *cobra.Command {
	a := &application{}
	prune := false
	c := &cobra.Command{
		Use: "apply DIR", Args: cobra.ExactArgs(1), Short: "Make entities as in a folder of YAML files",
		Long: `Make device services, profiles, devices, provision watchers and subscriptions as in the files
DIR/device/*.yaml and so on, as ledge save writes them. Entities that are missing are added, others
are changed. A field that a file does not have is left alone; an empty one, such as labels: [], is
emptied. It goes on behind a refusal. See docs/everyday.md.`,
		Example: "  ledge apply site --dry-run\n  ledge apply site --prune",
	}
	c.Flags().BoolVar(&a.dry, "dry-run", false, "change nothing, and print the differences")
	c.Flags().BoolVar(&prune, "prune", false, "remove the entities that have no file, of the kinds that have a folder")
	return runOn(c, func(ctx context.Context, c *cobra.Command, api *rest.API) error {
		a.c, a.api = c, api
		dir := c.Flags().Arg(0)
		wanted := map[string]map[string]bool{} // by kind and name; only kinds with a folder
		for _, e := range listApplied() {
			folder := filepath.Join(dir, e.name)
			if _, err := os.Stat(folder); err == nil {
				wanted[e.name] = map[string]bool{}
			}
			err := eachFile(folder, func(path string) error { return a.applyFile(ctx, e, path, wanted[e.name]) })
			if err != nil {
				return err
			}
		}
		if len(wanted) == 0 {
			const says = "%s has none of the folders device, profile, service, subscription and watcher; `ledge save %[1]s` makes them"
			return exit.With(exit.Usage, fmt.Errorf(says, dir))
		}
		list := listApplied()
		slices.Reverse(list)
		for _, e := range list {
			if names := wanted[e.name]; prune && names != nil {
				if err := a.prune(ctx, e, names); err != nil {
					return err
				}
			}
		}
		fmt.Fprintf(c.OutOrStdout(), "%s%d added, %d changed, %d removed; %d the same\n", a.prefix(), a.added, a.changed, a.removed, a.same)
		return a.failed
	})
}

// applyFile applies the entities of a file and notes their names.
func (a *application) applyFile(ctx context.Context, e entity, path string, names map[string]bool) error {
	list, err := e.readFile(path, nil)
	for _, fields := range list {
		name, ok := fields["name"].(string)
		if !ok || names[name] {
			err := fmt.Errorf("%s: the name %v is missing, or in two files; each entity has one", path, fields["name"])
			return exit.With(exit.Usage, err)
		}
		names[name] = true
		if err := a.applyOne(ctx, e, name, rest.Settable(fields)); err != nil {
			if ctx.Err() != nil {
				return err
			}
			a.failed = errors.Join(a.failed, fmt.Errorf("%s: %w", path, err))
		}
	}
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	return nil
}

// applyOne adds or changes an entity.
func (a *application) applyOne(ctx context.Context, e entity, name string, then map[string]any) error {
	now, etag, err := a.api.Entity(ctx, e.kind, e.kind.PathOf(name))
	if err != nil {
		return err
	}
	call := rest.Call{Method: http.MethodPatch, Service: e.kind.Service, Path: e.kind.Path, IfMatch: etag}
	fields, count, done := then, &a.changed, "changed"
	if now == nil {
		call.Method, count, done = http.MethodPost, &a.added, "added"
	} else {
		fields = map[string]any{}
		var texts []string
		for _, field := range slices.Sorted(maps.Keys(then)) {
			was, is := now[field], then[field]
			if reflect.DeepEqual(was, is) || isEmpty(was) && isEmpty(is) { // the API leaves out empty lists
				continue
			}
			fields[field] = is
			texts = append(texts, fmt.Sprintf("%s: %s → %s", field, cmp.Or(cellOf(was), "nothing"), cmp.Or(cellOf(is), "nothing")))
		}
		if len(fields) == 0 {
			a.same++
			return nil
		}
		done += ": " + strings.Join(texts, ", ")
		if fields["name"] = name; e.kind.Replaced {
			call.Method, fields = http.MethodPut, maps.Clone(now)
			maps.Copy(fields, then)
		}
	}
	if !a.dry {
		if err := a.api.DoOne(ctx, call, e.kind.Key, fields); err != nil {
			return err
		}
	}
	*count++
	fmt.Fprintln(a.c.OutOrStdout(), e.about, name, a.prefix()+done)
	return nil
}

// isEmpty reports whether a value of JSON is nothing, or an empty text, list or object.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// prefix is before the words for a change in a dry run.
func (a *application) prefix() string {
	if a.dry {
		return "to be "
	}
	return ""
}

// prune removes the entities of a kind without a file.
func (a *application) prune(ctx context.Context, e entity, names map[string]bool) error {
	var gone []string
	err := a.api.List(ctx, e.kind, e.kind.Path+"/all", url.Values{}, 0, func(fields map[string]any) error {
		if name := fmt.Sprint(fields["name"]); !names[name] {
			gone = append(gone, name)
		}
		return nil
	})
	for _, name := range gone {
		if err != nil || ctx.Err() != nil {
			break
		}
		if !a.dry {
			if failed := e.removeOne(ctx, a.api, name); failed != nil {
				a.failed = errors.Join(a.failed, failed)
				continue
			}
		}
		a.removed++
		fmt.Fprintln(a.c.OutOrStdout(), e.about, name, a.prefix()+"removed")
	}
	return cmp.Or(err, ctx.Err())
}
