package everyday

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"ledge/handlers/entityfile"
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

// eachFile calls f for each file of a folder that may have entities, by name. A folder that does not exist has none.
func eachFile(dir string, f func(path string) error) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range files {
		if err == nil && slices.Contains([]string{".yaml", ".yml", ".json", ".toml", ".csv"}, filepath.Ext(file.Name())) {
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
	defaults                      defaults
	added, changed, removed, same int
	failed                        error
}

// newApply returns the command that makes entities as in files.
func newApply() *cobra.Command {
	a := &application{}
	prune := false
	c := &cobra.Command{
		Use: "apply DIR", Args: cobra.ExactArgs(1), Short: "Make entities as in a folder of files",
		Long: `Make device services, profiles, devices, provision watchers and subscriptions as in the files
DIR/device/*.yaml and so on, as ledge save writes them, or as the import of the console takes them,
in JSON, TOML or CSV too. Entities that are missing are added, others are changed. A field that a
file does not have is left alone; an empty one, such as labels: [], is emptied. It goes on behind a
refusal. See docs/everyday.md.`,
		Example: "  ledge apply site --dry-run\n  ledge apply site --prune",
	}
	c.Flags().BoolVar(&a.dry, "dry-run", false, "change nothing, and print the differences")
	c.Flags().BoolVar(&prune, "prune", false, "remove the entities that have no file, of the kinds that have a folder")
	a.defaults.addTo(c)
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
	list, err := e.readFile(a.c, path)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	for _, one := range list {
		switch {
		case one.Name == "": // it may be the one that prune would remove
			return exit.With(exit.Usage, e.explain(path, one, one.Err))
		case one.Err == nil && names[one.Name]:
			return exit.With(exit.Usage, fmt.Errorf("%s: the name %q is in two files; each entity has one", path, one.Name))
		}
		names[one.Name] = true
		if err := a.applyOne(ctx, e, one); err != nil {
			if ctx.Err() != nil {
				return err
			}
			a.failed = errors.Join(a.failed, e.explain(path, one, err))
		}
	}
	return nil
}

// applyOne adds or changes an entity.
func (a *application) applyOne(ctx context.Context, e entity, one entityfile.Entity) error {
	if one.Err != nil {
		return exit.With(exit.Usage, one.Err)
	}
	now, etag, err := a.api.Entity(ctx, e.kind, e.kind.PathOf(one.Name))
	if err != nil {
		return err
	}
	if now == nil {
		if !a.dry {
			err = e.addOne(ctx, a.api, one, a.defaults)
		}
		if err == nil {
			a.print(e, one.Name, "added", &a.added)
		}
		return err
	}
	given, err := rest.DecodeFields[map[string]any](one.JSON)
	if err != nil {
		return err
	}
	var texts []string
	for _, field := range slices.Sorted(maps.Keys(given)) {
		was, is := now[field], given[field]
		if reflect.DeepEqual(was, is) || isEmpty(was) && isEmpty(is) {
			continue
		}
		texts = append(texts, fmt.Sprintf("%s: %s → %s", field, cmp.Or(cellOf(was), "nothing"), cmp.Or(cellOf(is), "nothing")))
	}
	if len(texts) == 0 {
		a.same++
		return nil
	}
	if !a.dry {
		then := maps.Clone(now)
		maps.Copy(then, given)
		if err := a.api.Change(ctx, e.kind, one.Name, etag, now, then); err != nil {
			return err
		}
	}
	a.print(e, one.Name, "changed: "+strings.Join(texts, ", "), &a.changed)
	return nil
}

// print prints and counts a change that is made, or that would be made in a dry run.
func (a *application) print(e entity, name, done string, count *int) {
	*count++
	fmt.Fprintln(a.c.OutOrStdout(), e.about, name, a.prefix()+done)
}

// isEmpty reports whether a value of JSON is nothing, zero, or an empty list or object. The API leaves many of these out.
func isEmpty(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
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
		a.print(e, name, "removed", &a.removed)
	}
	return cmp.Or(err, ctx.Err())
}
