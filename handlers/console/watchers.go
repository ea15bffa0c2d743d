package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

// watcherPages are the pages of provision watchers.
type watcherPages struct {
	*web.Site
	state  entities.Reader
	system System
}

func (s watcherPages) routes() []web.Route {
	return []web.Route{
		web.Get("/watchers", domain.MayRead, s.Share(s.watchers)),
		web.Get("/watchers/+add", domain.MayChange, s.showAddWatcher),
		web.Post("/watchers/+add", domain.MayChange, s.addWatcher),
		web.Get("/watchers/:name", domain.MayRead, s.watcher),
		web.Post("/watchers/:name", domain.MayChange, s.editWatcher),
		web.Post("/watchers/:name/delete", domain.MayChange, s.deleteWatcher),
	}
}

type watchersData struct {
	Watchers []domain.ProvisionWatcher
	Pager    web.Pager
}

func (s watcherPages) watchers(c *gin.Context) {
	list, total, err := web.List(s.Memory(c), s.state, watcherKind, domain.Page{Offset: web.Offset(c), Limit: web.PageRows},
		web.IndexFilters(c, domain.IndexLabel, domain.IndexProfile, domain.IndexService), web.CutRow)
	if err != nil {
		s.FailList(c, err)
		return
	}
	d := watchersData{list, web.PagerOf(c, total, len(list))}
	s.Show(c, http.StatusOK, "watchers", web.Page{Title: "Provision watchers", Live: "watchers", Data: d})
}

// watcherForm is a provision watcher as the user has entered it. Known reports whether it exists.
type watcherForm struct {
	Known                                bool
	Revision                             string
	Name, Labels, Identifiers, Blocking  string
	ServiceName, ProfileName, AdminState string
	Services, Profiles                   []web.Option
	Callbacks                            callbacks
	Problems                             web.Problems
}

// States are the admin states to choose from.
func (watcherForm) States() []web.Option { return web.LockOptions() }

func (s watcherPages) showWatcher(c *gin.Context, status int, message string, f watcherForm) {
	view, done := s.state()
	services, _, err := view.Lists.Keys(domain.ListServices, domain.Page{Limit: web.MostSuggested})
	var profiles []string
	if err == nil {
		profiles, _, err = view.Lists.Keys(domain.ListProfiles, domain.Page{Limit: web.MostSuggested})
	}
	done()
	if err != nil {
		s.Fail(c, err)
		return
	}
	if f.Known {
		f.Callbacks = callbacksOf(c, s.system, f.ServiceName, "watcher")
	}
	f.Services, f.Profiles = web.OptionsOf(services...), web.OptionsOf(profiles...)
	title := "Add a provision watcher"
	if f.Known {
		title = "Provision watcher " + f.Name
	}
	s.Show(c, status, "watcher", web.Page{Title: title, Message: message, Data: f})
}

func (s watcherPages) showAddWatcher(c *gin.Context) {
	s.showWatcher(c, http.StatusOK, "", watcherForm{AdminState: domain.StateUnlocked})
}

func (s watcherPages) watcher(c *gin.Context) {
	name := c.Param("name")
	d, row, err := web.ReadForm(s.Memory(c), s.state, watcherKind.Table, "provision watcher", name, web.APIPath("provisionwatcher/name/", name))
	if err != nil {
		s.Fail(c, err)
		return
	}
	identifiers, blocking := []string{}, []string{}
	for property, pattern := range d.Identifiers {
		identifiers = append(identifiers, property+"="+pattern)
	}
	for property, values := range d.BlockingIdentifiers {
		for _, value := range values {
			blocking = append(blocking, property+"="+value)
		}
	}
	slices.Sort(identifiers)
	slices.Sort(blocking)
	s.showWatcher(c, http.StatusOK, "", watcherForm{
		Known: true, Revision: strconv.FormatUint(row.Revision, 10), Name: d.Name, Labels: strings.Join(d.Labels, ", "), Identifiers: strings.Join(identifiers, "\n"),
		Blocking: strings.Join(blocking, "\n"), ServiceName: d.ServiceName, ProfileName: d.ProfileName, AdminState: d.AdminState,
	})
}

func readWatcher(c *gin.Context) watcherForm {
	return watcherForm{
		Revision: c.PostForm("revision"), Name: strings.TrimSpace(c.PostForm("name")), Labels: c.PostForm("labels"), Identifiers: c.PostForm("identifiers"),
		Blocking: c.PostForm("blockingIdentifiers"), ServiceName: strings.TrimSpace(c.PostForm("serviceName")), ProfileName: strings.TrimSpace(c.PostForm("profileName")), AdminState: c.PostForm("adminState"),
	}
}

// pairs reads lines such as address=10\..*
func pairs(text string, add func(property, value string)) {
	for line := range strings.Lines(text) {
		if property, value, _ := strings.Cut(strings.TrimSpace(line), "="); property != "" {
			add(strings.TrimSpace(property), strings.TrimSpace(value))
		}
	}
}

func (s watcherPages) addWatcher(c *gin.Context) {
	s.saveWatcher(c, http.MethodPost, readWatcher(c), "added")
}

func (s watcherPages) editWatcher(c *gin.Context) {
	f := readWatcher(c)
	f.Known, f.Name = true, c.Param("name")
	s.saveWatcher(c, http.MethodPatch, f, "changed")
}

func (s watcherPages) saveWatcher(c *gin.Context, method string, f watcherForm, what string) {
	identifiers, blocking := map[string]string{}, map[string][]string{}
	pairs(f.Identifiers, func(property, value string) { identifiers[property] = value })
	pairs(f.Blocking, func(property, value string) { blocking[property] = append(blocking[property], value) })
	a := s.ChangeOne(c, metadataService, method, web.API+"/provisionwatcher", "provisionWatcher", map[string]any{
		"name": f.Name, "labels": web.SplitLabels(f.Labels), "identifiers": identifiers, "blockingIdentifiers": blocking,
		"serviceName": f.ServiceName, "profileName": f.ProfileName, "adminState": f.AdminState,
	}, f.Revision)
	if !a.OK() {
		f.Problems = a.Problems
		s.showWatcher(c, a.Status, a.Message, f)
		return
	}
	s.Done(c, "/watchers/"+url.PathEscape(f.Name), "The provision watcher is %s.", what)
}

func (s watcherPages) deleteWatcher(c *gin.Context) {
	a := s.Call(c, metadataService, http.MethodDelete, web.APIPath("provisionwatcher/name/", c.Param("name")), nil)
	s.Finish(c, a, "/watchers", "The provision watcher %s is deleted.", c.Param("name"))
}
