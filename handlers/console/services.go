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

func (s *Console) serviceRoutes() []route {
	return []route{
		{"GET", "/services", domain.MayRead, s.share(s.services)},
		{"GET", "/services/+add", domain.MayChange, s.showAddService},
		{"POST", "/services/+add", domain.MayChange, s.addService},
		{"GET", "/services/:name", domain.MayRead, s.service},
		{"POST", "/services/:name", domain.MayChange, s.editService},
		{"POST", "/services/:name/delete", domain.MayChange, s.deleteService},
	}
}

type servicesData struct {
	Services []domain.DeviceService
	Pager    listPager
	Label    string
}

func (s *Console) services(c *gin.Context) {
	list, total, err := list(s.memory(c), s.State, serviceKind, domain.Page{Offset: offset(c), Limit: pageRows}, indexFilters(c, domain.IndexLabel), cutRow)
	if err != nil {
		s.failList(c, err)
		return
	}
	s.show(c, http.StatusOK, "services", Page{Title: "Device services", Live: "services", Data: servicesData{list, pagerOf(c, total, len(list)), filterText(c, domain.IndexLabel)}})
}

// serviceForm is a device service as the user has entered it. Known reports whether it exists.
type serviceForm struct {
	Known                                              bool
	Revision                                           string
	Name, Description, BaseAddress, AdminState, Labels string
	LastConnected, LastReported                        int64
	Callbacks                                          callbacks
	Devices                                            int
	Problems                                           problems
}

// States are the admin states to choose from.
func (serviceForm) States() []option { return lockOptions() }

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
func (s *Console) callbacksOf(c *gin.Context, service, kind string) callbacks {
	last, waiting := s.System.Callbacks(service)
	if kind != "" {
		last = slices.DeleteFunc(last, func(one Callback) bool { return one.Kind != kind })
	}
	if u, _ := user(c); !u.Role.May(domain.MayChange) {
		for i := range last {
			last[i].Answer = domain.HiddenAnswer
		}
	}
	return callbacks{service, last, waiting}
}

func (s *Console) showService(c *gin.Context, status int, message string, f serviceForm) {
	title := "Add a device service"
	if f.Known {
		title = "Device service " + f.Name
	}
	s.show(c, status, "service", Page{Title: title, Message: message, Data: f})
}

func (s *Console) showAddService(c *gin.Context) {
	s.showService(c, http.StatusOK, "", serviceForm{AdminState: domain.StateUnlocked})
}

func (s *Console) service(c *gin.Context) {
	name := c.Param("name")
	d, row, err := readForm(s.memory(c), s.State, serviceKind.Table, "device service", name, apiPath("deviceservice/name/", name))
	if err != nil {
		s.fail(c, err)
		return
	}
	view, done := s.State()
	_, devices, err := view.Lists.Keys(domain.ListDevices, domain.Page{}, domain.Filter{Index: domain.IndexService, Value: name})
	done()
	if err != nil {
		s.fail(c, err)
		return
	}
	calls := s.callbacksOf(c, name, "")
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

func (s *Console) addService(c *gin.Context) {
	s.saveService(c, http.MethodPost, readService(c), "added")
}

func (s *Console) editService(c *gin.Context) {
	f := readService(c)
	f.Known, f.Name = true, c.Param("name")
	s.saveService(c, http.MethodPatch, f, "changed")
}

func (s *Console) saveService(c *gin.Context, method string, f serviceForm, what string) {
	a := s.changeOne(c, metadataService, method, api+"/deviceservice", "service", map[string]any{
		"name": f.Name, "description": f.Description, "baseAddress": f.BaseAddress, "adminState": f.AdminState, "labels": splitLabels(f.Labels),
	}, f.Revision)
	if !a.ok() {
		f.Problems = a.Problems
		s.showService(c, a.Status, a.Message, f)
		return
	}
	s.done(c, "/services/"+url.PathEscape(f.Name), "The device service is %s.", what)
}

func (s *Console) deleteService(c *gin.Context) {
	a := s.call(c, metadataService, http.MethodDelete, apiPath("deviceservice/name/", c.Param("name")), nil)
	s.finish(c, a, "/services", "The device service %s is deleted.", c.Param("name"))
}
