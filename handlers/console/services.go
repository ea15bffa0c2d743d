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

// servicePages are the pages of device services.
type servicePages struct {
	*web.Site
	state  entities.Reader
	system System
}

func (s servicePages) routes() []web.Route {
	return []web.Route{
		web.Get("/services", domain.MayRead, s.Share(s.services)),
		web.Get("/services/+add", domain.MayChange, s.showAddService),
		web.Post("/services/+add", domain.MayChange, s.addService),
		web.Get("/services/:name", domain.MayRead, s.service),
		web.Post("/services/:name", domain.MayChange, s.editService),
		web.Post("/services/:name/delete", domain.MayChange, s.deleteService),
	}
}

type servicesData struct {
	Services []domain.DeviceService
	Pager    web.Pager
	Label    string
}

func (s servicePages) services(c *gin.Context) {
	list, total, err := web.List(s.Memory(c), s.state, serviceKind, domain.Page{Offset: web.Offset(c), Limit: web.PageRows},
		web.IndexFilters(c, domain.IndexLabel), web.CutRow)
	if err != nil {
		s.FailList(c, err)
		return
	}
	d := servicesData{list, web.PagerOf(c, total, len(list)), web.FilterText(c, domain.IndexLabel)}
	s.Show(c, http.StatusOK, "services", web.Page{Title: "Device services", Live: "services", Data: d})
}

// serviceForm is a device service as the user has entered it. Known reports whether it exists.
type serviceForm struct {
	Known                                              bool
	Revision                                           string
	Name, Description, BaseAddress, AdminState, Labels string
	LastConnected, LastReported                        int64
	Callbacks                                          callbacks
	Devices                                            int
	Problems                                           web.Problems
}

// States are the admin states to choose from.
func (serviceForm) States() []web.Option { return web.LockOptions() }

// BuiltIn reports whether the service is part of Ledge.
func (f serviceForm) BuiltIn() bool { return f.Name == domain.DeviceREST }

// AddressHint says what the base address is for.
func (f serviceForm) AddressHint() string {
	if f.BuiltIn() {
		return "The URL at which other programs post values. device-rest is part of Ledge, so Ledge does not call it."
	}
	return "The URL at which Ledge calls the service, such as http://10.0.0.5:59999"
}

// callbacks are the last calls of a device service, and the number of waiting calls.
type callbacks struct {
	Service string
	Last    []Callback
	Waiting int
}

// callbacksOf returns the last calls of a service, as the user of a request may see them. If kind is not empty, it returns only those
// about entities of that kind.
func callbacksOf(c *gin.Context, system System, service, kind string) callbacks {
	last, waiting := system.Callbacks(service)
	if kind != "" {
		last = slices.DeleteFunc(last, func(one Callback) bool { return one.Kind != kind })
	}
	if u, _ := web.User(c); !u.Role.May(domain.MayChange) {
		for i := range last {
			last[i].Answer = domain.HiddenAnswer
		}
	}
	return callbacks{service, last, waiting}
}

func (s servicePages) showService(c *gin.Context, status int, message string, f serviceForm) {
	title := "Add a device service"
	if f.Known {
		title = "Device service " + f.Name
	}
	s.Show(c, status, "service", web.Page{Title: title, Message: message, Data: f})
}

func (s servicePages) showAddService(c *gin.Context) {
	s.showService(c, http.StatusOK, "", serviceForm{AdminState: domain.StateUnlocked})
}

func (s servicePages) service(c *gin.Context) {
	name := c.Param("name")
	d, row, err := web.ReadForm(s.Memory(c), s.state, serviceKind.Table, "device service", name, web.APIPath("deviceservice/name/", name))
	if err != nil {
		s.Fail(c, err)
		return
	}
	view, done := s.state()
	_, devices, err := view.Lists.Keys(domain.ListDevices, domain.Page{}, domain.Filter{Index: domain.IndexService, Value: name})
	done()
	if err != nil {
		s.Fail(c, err)
		return
	}
	calls := callbacksOf(c, s.system, name, "")
	s.showService(c, http.StatusOK, "", serviceForm{
		Known: true, Revision: strconv.FormatUint(row.Revision, 10), Name: d.Name, Description: d.Description, BaseAddress: d.BaseAddress, AdminState: d.AdminState,
		Labels: strings.Join(d.Labels, ", "), LastConnected: d.LastConnected, LastReported: d.LastReported, Devices: devices, Callbacks: calls,
	})
}

func readService(c *gin.Context) serviceForm {
	return serviceForm{
		Revision: c.PostForm("revision"), Name: strings.TrimSpace(c.PostForm("name")), Description: c.PostForm("description"),
		BaseAddress: strings.TrimSpace(c.PostForm("baseAddress")), AdminState: c.PostForm("adminState"), Labels: c.PostForm("labels"),
	}
}

func (s servicePages) addService(c *gin.Context) {
	s.saveService(c, http.MethodPost, readService(c), "added")
}

func (s servicePages) editService(c *gin.Context) {
	f := readService(c)
	f.Known, f.Name = true, c.Param("name")
	s.saveService(c, http.MethodPatch, f, "changed")
}

func (s servicePages) saveService(c *gin.Context, method string, f serviceForm, what string) {
	a := s.ChangeOne(c, metadataService, method, web.API+"/deviceservice", "service", map[string]any{
		"name": f.Name, "description": f.Description, "baseAddress": f.BaseAddress, "adminState": f.AdminState, "labels": web.SplitLabels(f.Labels),
	}, f.Revision)
	if !a.OK() {
		f.Problems = a.Problems
		s.showService(c, a.Status, a.Message, f)
		return
	}
	s.Done(c, "/services/"+url.PathEscape(f.Name), "The device service is %s.", what)
}

func (s servicePages) deleteService(c *gin.Context) {
	a := s.Call(c, metadataService, http.MethodDelete, web.APIPath("deviceservice/name/", c.Param("name")), nil)
	s.Finish(c, a, "/services", "The device service %s is deleted.", c.Param("name"))
}
