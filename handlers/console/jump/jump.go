// Package jump finds the device, profile, subscription or page that a user of the console means by a part of its name. The jump box asks it
// while its user types; without scripts it is a page.
package jump

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/devicesearch"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

const (
	// mostOfKind bounds the answers of each kind.
	mostOfKind = 6
	// mostNames is how many profiles, and how many subscriptions, are compared: the ones that changed last. The index of devices has a
	// bound of its own.
	mostNames = 2000
)

// Found is a place in the console.
type Found struct {
	Kind string `json:"kind"` // Page, Device, Removed device, Profile or Subscription
	Name string `json:"name"`
	Path string `json:"path"`
}

// Pages finds places and shows them.
type Pages struct {
	*web.Site
	State   entities.Reader
	Devices *devicesearch.Index
}

// Routes returns the one route. Its answer is JSON for a request that accepts nothing else.
func (s Pages) Routes() []web.Route {
	return []web.Route{web.Get("/jump", domain.MayRead, s.show)}
}

type data struct {
	Text  string
	Found []Found
}

func (s Pages) show(c *gin.Context) error {
	u, _ := web.User(c)
	text := web.FilterText(c, "q")
	found, err := s.find(c.Request.Context(), text, u.Role)
	if err != nil {
		return err
	}
	if c.GetHeader("Accept") == gin.MIMEJSON {
		c.JSON(http.StatusOK, found)
		return nil
	}
	return s.Show(c, http.StatusOK, "jump", web.Page{Title: "Jump to", Data: data{text, found}})
}

// find returns the pages that a role may see and the entities whose names have all words of a text. Names that begin with the text are
// first. A removed device is found by its whole name. Pages that other words find are last. An empty text finds the pages of the menu.
func (s Pages) find(ctx context.Context, text string, role domain.Role) ([]Found, error) {
	name := strings.TrimSpace(text)
	text = strings.ToLower(name)
	found := []Found{}
	for _, m := range s.Menu {
		if role.May(m.Right) && strings.Contains(strings.ToLower(m.Label), text) {
			found = append(found, Found{"Page", m.Label, m.Path})
		}
	}
	if text == "" {
		return found, nil
	}
	found = append(found, findPlaces(text, role, true)...)
	devices, err := s.findDevices(ctx, text)
	if err != nil {
		return nil, err
	}
	found = append(found, devices...)
	if s.Devices.IsRemoved(name) {
		found = append(found, Found{"Removed device", name, "/devices/" + url.PathEscape(name)}) // its page leads to its history
	}
	for _, kind := range []struct{ list, name, path string }{
		{domain.ListProfiles, "Profile", "/profiles/"}, {domain.ListSubscriptions, "Subscription", "/subscriptions/"},
	} {
		names, err := s.findNames(kind.list, text)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			found = append(found, Found{kind.name, name, kind.path + url.PathEscape(name)})
		}
	}
	return append(found, findPlaces(text, role, false)...), nil
}

// findDevices finds devices as their list does, also by a label, the profile and the service.
func (s Pages) findDevices(ctx context.Context, text string) (found []Found, err error) {
	begins := func(d *devicesearch.Device) bool { return strings.HasPrefix(strings.ToLower(d.Name), text) }
	for _, only := range []func(*devicesearch.Device) bool{begins, func(d *devicesearch.Device) bool { return !begins(d) }} {
		most := mostOfKind - len(found)
		if most == 0 {
			break
		}
		f, err := s.Devices.Find(ctx, devicesearch.Query{Filter: devicesearch.Parse(text), Only: only, Limit: most})
		if err != nil {
			return nil, err
		}
		for _, one := range f.Devices {
			found = append(found, Found{"Device", one.Name, "/devices/" + url.PathEscape(one.Name)})
		}
	}
	return found, nil
}

func (s Pages) findNames(list, text string) ([]string, error) {
	view, done := s.State()
	names, _, err := view.Lists.Keys(list, domain.Page{Limit: mostNames})
	done()
	if err != nil {
		return nil, err
	}
	words := strings.Fields(text)
	names = slices.DeleteFunc(names, func(name string) bool {
		name = strings.ToLower(name)
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(name, word) })
	})
	slices.SortFunc(names, func(a, b string) int {
		beginsA, beginsB := strings.HasPrefix(strings.ToLower(a), text), strings.HasPrefix(strings.ToLower(b), text)
		switch {
		case beginsA == beginsB:
			return devicesearch.Natural(a, b)
		case beginsA:
			return -1
		}
		return 1
	})
	return names[:min(len(names), mostOfKind)], nil
}
