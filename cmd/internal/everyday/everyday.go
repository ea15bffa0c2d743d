// Package everyday has the commands for entities and readings: list, get, add, edit, remove, lock and unlock, save and apply, over the REST
// APIs of the local node or of another one.
package everyday

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/rest"
	"ledge/cmd/internal/services"
	"ledge/handlers/entityfile"
	"ledge/handlers/notifications"
	v2 "ledge/handlers/shapes/v2"
)

// TokenVariable is the variable of the environment with a token for --server.
const TokenVariable = "LEDGE_TOKEN"

// target is the node that a command asks.
type target struct {
	server, tokenFile, ca string

	read func() (*config.Config, map[string]string, error) // the settings
}

func (t *target) addTo(c *cobra.Command) {
	c.Flags().StringVar(&t.server, "server", "", "address of another node, such as https://edge-7. Default: the server of the data folder")
	c.Flags().StringVar(&t.tokenFile, "token-file", "", "file with a token for --server. Default: the variable "+TokenVariable)
	c.Flags().StringVar(&t.ca, "ca", "", "file with the CA of --server, in PEM. Default: the CAs of the system")
}

// open returns the APIs of the node.
func (t *target) open() (*rest.API, error) {
	cfg, _, err := t.read()
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if t.server == "" {
		if t.tokenFile != "" || t.ca != "" {
			return nil, exit.With(exit.Usage, errors.New("--token-file and --ca are for --server; give an address, or leave them out"))
		}
		return rest.Local(cfg.DataDir)
	}
	token := os.Getenv(TokenVariable)
	if t.tokenFile != "" {
		text, err := os.ReadFile(t.tokenFile)
		if err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("--token-file: %w", err))
		}
		token = string(text)
	}
	return rest.Remote(t.server, strings.TrimSpace(token), t.ca, func(one services.Service) int {
		return cfg.ListenAt(one).Port
	})
}

// entity are the commands of a kind of entity.
type entity struct {
	name  string // such as device
	about string // such as "device profile"
	kind  rest.Kind
	file  entityfile.Kind
}

var entities = []entity{
	{"device", "device", rest.Kinds["device"], entityfile.Devices},
	newEntity("profile", "device profile", reflect.TypeFor[v2.Profile]()),
	newEntity("service", "device service", reflect.TypeFor[v2.Service]()),
	newEntity("watcher", "provision watcher", reflect.TypeFor[v2.Watcher]()),
	newEntity("subscription", "subscription", notifications.SubscriptionShape),
}

// newEntity returns the commands of a kind. shape is the struct of an entity in requests.
func newEntity(name, about string, shape reflect.Type) entity {
	k := rest.Kinds[name]
	return entity{name, about, k, entityfile.Kind{About: about, Key: k.Key, List: k.List, Shape: shape}}
}

// Commands returns the commands of all kinds of entities and of readings.
func Commands() (all []*cobra.Command) {
	for _, e := range entities {
		c := &cobra.Command{
			Use:   e.name,
			Short: fmt.Sprintf("List, show and change %ss", e.about),
			Long: fmt.Sprintf(`List, show and change %ss over the REST API: of the server of the data folder, in
the name of the local user, or with --server of another node. See docs/everyday.md.`, e.about),
			Example: fmt.Sprintf("  ledge %s list --output yaml\n  ledge %[1]s get NAME --server https://edge-7", e.name),
		}
		c.AddCommand(e.newList(), e.newGet(), e.newAdd(), e.newEdit(), e.newRemove())
		if e.name != "profile" {
			c.AddCommand(e.newLock("lock", "LOCKED"), e.newLock("unlock", "UNLOCKED"))
		}
		all = append(all, c)
	}
	reading := &cobra.Command{
		Use: "reading", Short: "List readings", Long: "List the readings of devices. See docs/everyday.md.",
		Example: "  ledge reading list --device cam-1\n  ledge reading list --limit 1000 --output csv",
	}
	reading.AddCommand(newReadings())
	return append(all, reading, newSave(), newApply())
}

// runOn gives a command its flags and runs f with the APIs of the node.
func runOn(c *cobra.Command, f func(ctx context.Context, c *cobra.Command, api *rest.API) error) *cobra.Command {
	newTarget(c).run(c, f)
	return c
}

// runOnNames is runOn for a command whose arguments are names of entities, which a shell completes.
func (e entity) runOnNames(c *cobra.Command, f func(ctx context.Context, c *cobra.Command, api *rest.API) error) *cobra.Command {
	t := newTarget(c)
	t.run(c, f)
	c.ValidArgsFunction = func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
		api, err := t.open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionWait)
		defer cancel()
		_ = api.List(ctx, e.kind, e.kind.Path+"/all", url.Values{}, 1000, func(one map[string]any) error {
			names = append(names, fmt.Sprint(one["name"]))
			return nil
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

// completionWait is how long a shell waits for names.
const completionWait = 2 * time.Second

// newTarget gives a command its flags.
func newTarget(c *cobra.Command) *target {
	t := &target{}
	t.addTo(c)
	t.read = cli.AddSettingFlags(c)
	return t
}

func (t *target) run(c *cobra.Command, f func(ctx context.Context, c *cobra.Command, api *rest.API) error) {
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := t.open()
		if err == nil {
			err = f(c.Context(), c, api)
		}
		return cli.ExplainInterrupt(c.Context(), err, "a part may be done; list to see it")
	}
}

// newList returns the command that lists entities.
func (e entity) newList() *cobra.Command {
	var labels []string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: fmt.Sprintf("List %ss, the last changed first", e.about),
		Long:    fmt.Sprintf("List %ss, the last changed first.", e.about),
		Example: fmt.Sprintf("  ledge %s list --label indoor\n  ledge %[1]s list --limit 10 --output json", e.name),
	}
	c.Flags().StringSliceVar(&labels, "label", nil, "only with this label; several, with commas between them: with all of them")
	c.Flags().IntVar(&limit, "limit", 0, "print at most so many; 0 for all")
	output := addOutput(c, tableOutput)
	return runOn(c, func(ctx context.Context, c *cobra.Command, api *rest.API) error {
		path, query := e.kind.Path+"/all", url.Values{}
		switch {
		case len(labels) > 0 && e.name == "subscription": // which has a route for one label
			path = e.kind.Path + "/label/" + url.PathEscape(labels[0])
		case len(labels) > 0:
			query.Set("labels", strings.Join(labels, ","))
		}
		return printList(ctx, c, api, e.kind, path, query, limit, *output)
	})
}

// printList prints at most so many entities of a list, 0 for all.
func printList(
	ctx context.Context, c *cobra.Command, api *rest.API, k rest.Kind, path string, query url.Values, limit int, output string,
) error {
	p, err := newPrinter(c.OutOrStdout(), output, k.Columns)
	if err == nil {
		err = api.List(ctx, k, path, query, limit, p.print)
	}
	if err != nil {
		return err
	}
	return p.end()
}

// newGet returns the command that shows one entity.
func (e entity) newGet() *cobra.Command {
	c := &cobra.Command{
		Use: "get NAME", Args: cobra.ExactArgs(1), Short: fmt.Sprintf("Show one %s", e.about),
		Long:    fmt.Sprintf("Show one %s, in a form that add takes. --as-of shows it as it was.", e.about),
		Example: fmt.Sprintf("  ledge %s get NAME > NAME.yaml\n  ledge %[1]s get NAME --as-of 2026-11-24", e.name),
	}
	const moment = "after this event or at this time: 4711, 2026-11-24T07:00:00Z, 2026-11-24, or how long ago, such as 2h"
	asOf := c.Flags().String("as-of", "", moment)
	output := addOutput(c, yamlOutput)
	return e.runOnNames(c, func(ctx context.Context, c *cobra.Command, api *rest.API) error {
		p, err := newPrinter(c.OutOrStdout(), *output, e.kind.Columns)
		if err != nil {
			return err
		}
		path := e.kind.PathOf(c.Flags().Arg(0))
		if *asOf != "" {
			path += "?asOf=" + url.QueryEscape(*asOf)
		}
		p.single = true
		fields, err := e.mustRead(ctx, api, path, c.Flags().Arg(0))
		if err == nil {
			err = p.print(fields)
		}
		if err != nil {
			return err
		}
		return p.end()
	})
}

// mustRead returns the fields of an entity that a request sets.
func (e entity) mustRead(ctx context.Context, api *rest.API, path, name string) (map[string]any, error) {
	fields, _, err := api.Entity(ctx, e.kind, path)
	if err == nil && fields == nil {
		err = fmt.Errorf("%s %q does not exist; `ledge %s list` has the names", e.about, name, e.name)
	}
	return fields, err
}

// newReadings returns the command that lists readings.
func newReadings() *cobra.Command {
	var device, resource string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List readings, the newest first",
		Long: "List readings, the newest first. The origin is in nanoseconds since 1970.",
		Example: "  ledge reading list --device cam-1 --resource temperature\n" +
			"  ledge reading list --limit 1000 --output csv > readings.csv",
	}
	c.Flags().StringVar(&device, "device", "", "only of this device")
	c.Flags().StringVar(&resource, "resource", "", "only of this resource")
	c.Flags().IntVar(&limit, "limit", 20, "print at most so many; 0 for all")
	output := addOutput(c, tableOutput)
	return runOn(c, func(ctx context.Context, c *cobra.Command, api *rest.API) error {
		path := rest.Readings.Path
		switch {
		case device != "" && resource != "":
			path += "/device/name/" + url.PathEscape(device) + "/resourceName/" + url.PathEscape(resource)
		case device != "":
			path += "/device/name/" + url.PathEscape(device)
		case resource != "":
			path += "/resourceName/" + url.PathEscape(resource)
		default:
			path += "/all"
		}
		if *output == csvOutput {
			return api.CopyCSV(ctx, rest.Readings, path, url.Values{}, limit, c.OutOrStdout())
		}
		return printList(ctx, c, api, rest.Readings, path, url.Values{}, limit, *output)
	})
}

// removeOne removes an entity.
func (e entity) removeOne(ctx context.Context, api *rest.API, name string) error {
	_, err := api.Do(ctx, rest.Call{Method: http.MethodDelete, Service: e.kind.Service, Path: e.kind.PathOf(name)}, nil)
	return err
}
