package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

func (s *Console) watcherRoutes() []route {
	return []route{
		{"GET", "/watchers", domain.MayRead, s.share(s.watchers)},
		{"GET", "/watchers/+add", domain.MayChange, s.showAddWatcher},
		{"POST", "/watchers/+add", domain.MayChange, s.addWatcher},
		{"GET", "/watchers/:name", domain.MayRead, s.watcher},
		{"POST", "/watchers/:name", domain.MayChange, s.editWatcher},
		{"POST", "/watchers/:name/delete", domain.MayChange, s.deleteWatcher},
	}
}

type watchersData struct {
	Watchers []domain.ProvisionWatcher
	Pager    listPager
}

func (s *Console) watchers(c *gin.Context) {
	list, total, err := list(s.memory(c), s.State, watcherKind, domain.Page{Offset: offset(c), Limit: pageRows},
		indexFilters(c, domain.IndexLabel, domain.IndexProfile, domain.IndexService), cutRow)
	if err != nil {
		s.failList(c, err)
		return
	}
	s.show(c, http.StatusOK, "watchers", Page{Title: "Provision watchers", Live: "watchers", Data: watchersData{list, pagerOf(c, total, len(list))}})
}

// watcherForm is a provision watcher as the user has entered it. Known reports whether it exists.
type watcherForm struct {
	Known                                bool
	Revision                             string
	Name, Labels, Identifiers, Blocking  string
	ServiceName, ProfileName, AdminState string
	Services, Profiles                   []option
	Callbacks                            callbacks
	Problems                             problems
}

// States are the admin states to choose from.
func (watcherForm) States() []option { return lockOptions() }

func (s *Console) showWatcher(c *gin.Context, status int, message string, f watcherForm) {
	view, done := s.State()
	services, _, err := view.Lists.Keys(domain.ListServices, domain.Page{Limit: mostSuggested})
	var profiles []string
	if err == nil {
		profiles, _, err = view.Lists.Keys(domain.ListProfiles, domain.Page{Limit: mostSuggested})
	}
	done()
	if err != nil {
		s.fail(c, err)
		return
	}
	if f.Known {
		f.Callbacks = s.callbacksOf(c, f.ServiceName, "watcher")
	}
	f.Services, f.Profiles = options(services...), options(profiles...)
	title := "Add a provision watcher"
	if f.Known {
		title = "Provision watcher " + f.Name
	}
	s.show(c, status, "watcher", Page{Title: title, Message: message, Data: f})
}

func (s *Console) showAddWatcher(c *gin.Context) {
	s.showWatcher(c, http.StatusOK, "", watcherForm{AdminState: domain.StateUnlocked})
}

func (s *Console) watcher(c *gin.Context) {
	name := c.Param("name")
	d, row, err := readForm(s.memory(c), s.State, watcherKind.Table, "provision watcher", name, apiPath("provisionwatcher/name/", name))
	if err != nil {
		s.fail(c, err)
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

func (s *Console) addWatcher(c *gin.Context) {
	s.saveWatcher(c, http.MethodPost, readWatcher(c), "added")
}

func (s *Console) editWatcher(c *gin.Context) {
	f := readWatcher(c)
	f.Known, f.Name = true, c.Param("name")
	s.saveWatcher(c, http.MethodPatch, f, "changed")
}

func (s *Console) saveWatcher(c *gin.Context, method string, f watcherForm, what string) {
	identifiers, blocking := map[string]string{}, map[string][]string{}
	pairs(f.Identifiers, func(property, value string) { identifiers[property] = value })
	pairs(f.Blocking, func(property, value string) { blocking[property] = append(blocking[property], value) })
	a := s.changeOne(c, metadataService, method, api+"/provisionwatcher", "provisionWatcher", map[string]any{
		"name": f.Name, "labels": splitLabels(f.Labels), "identifiers": identifiers, "blockingIdentifiers": blocking,
		"serviceName": f.ServiceName, "profileName": f.ProfileName, "adminState": f.AdminState,
	}, f.Revision)
	if !a.ok() {
		f.Problems = a.Problems
		s.showWatcher(c, a.Status, a.Message, f)
		return
	}
	s.done(c, "/watchers/"+url.PathEscape(f.Name), "The provision watcher is %s.", what)
}

func (s *Console) deleteWatcher(c *gin.Context) {
	a := s.call(c, metadataService, http.MethodDelete, apiPath("provisionwatcher/name/", c.Param("name")), nil)
	s.finish(c, a, "/watchers", "The provision watcher %s is deleted.", c.Param("name"))
}
