package console

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/eventlog"
	"ledge/handlers"
	"ledge/handlers/console/silence"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

// overviewPage answers "is everything well?".
type overviewPage struct {
	*web.Site
	state, notes entities.Reader
	system       System
	ledger       Ledger
	silent       *silence.Finder
}

func (s overviewPage) Routes() []web.Route {
	return []web.Route{web.Get("/", handlers.AnyRole, s.Share(s.overview))}
}

type overviewData struct {
	Devices, Profiles, Subscriptions int
	Concerns                         []concern
	Looking                          bool // for silent devices: it is not known yet whether there are any
	Status                           Status
	Waiting                          int
	More                             bool // more is waiting than Waiting says
	Failing                          []failing
	MoreFailing                      int
	Changes                          LogSpan
	Verified                         uint64 // of the changes
	Verification                     Verification
	Recent                           []recentChange
}

// failing is an endpoint that cannot be reached.
type failing struct {
	domain.EndpointState
	Name         string // as people write it
	Why          string // the answer to the last try; "" if it is not recorded
	Subscription string
}

// recentChange is a change with its entity.
type recentChange struct {
	Entry
	Entity string // the address of its page, if there is one
	Path   string // the address of the event, for auditors
}

const (
	mostFailing = web.PageRows
	mostRecent  = 8
	// recentLook bounds the events that are read for the recent changes.
	recentLook = 200
	// openLook bounds the transmissions that are read for why an endpoint fails.
	openLook = 5
)

func (s overviewPage) overview(c *gin.Context) error {
	u, _ := web.User(c)
	if !u.Role.May(domain.MayRead) {
		return s.Show(c, http.StatusOK, "overview", web.Page{Title: "Overview", Data: overviewData{}})
	}
	d, err := s.overviewData(c, u.Role)
	if err != nil {
		return err
	}
	const live = "devices&profiles&subscriptions&notifications&transmissions&ledger=changes"
	return s.Show(c, http.StatusOK, "overview", web.Page{Title: "Overview", Live: live, Data: d})
}

func (s overviewPage) overviewData(c *gin.Context, role domain.Role) (d overviewData, err error) {
	if err := s.countEntities(&d); err != nil {
		return d, err
	}
	d.Status = s.system.Status()
	if err := s.findFailing(&d, role); err != nil {
		return d, err
	}
	d.Changes, d.Verification = s.ledger.Logs()[0], s.ledger.Verification()
	if err := s.findConcerns(c.Request.Context(), &d, role); err != nil {
		return d, err
	}
	for _, r := range d.Verification.Reports {
		if r.Name == d.Changes.Name {
			d.Verified = r.Last
		}
	}
	if err := s.Memory(c).Hold(web.LogWork); err != nil {
		return d, err
	}
	defer s.Memory(c).Release()
	d.Recent, err = s.recent(c.Request.Context(), d.Changes, role)
	return d, err
}

func (s overviewPage) countEntities(d *overviewData) (err error) {
	view, done := s.state()
	defer done()
	for list, n := range map[string]*int{domain.ListDevices: &d.Devices, domain.ListProfiles: &d.Profiles, domain.ListSubscriptions: &d.Subscriptions} {
		if _, *n, err = view.Lists.Keys(list, domain.Page{Limit: 0}); err != nil {
			return err
		}
	}
	return nil
}

// findFailing counts what waits, and finds what the endpoints that fail have answered.
func (s overviewPage) findFailing(d *overviewData, role domain.Role) error {
	notes, done := s.notes()
	defer done()
	for _, e := range s.system.Endpoints() {
		d.Waiting += e.Waiting + e.UnderWay
		d.More = d.More || e.More
		if e.Failures == 0 {
			continue
		}
		if len(d.Failing) == mostFailing {
			d.MoreFailing++
			continue
		}
		why, subscription, err := lastAnswer(notes.Lists, e.Target, role)
		if err != nil {
			return err
		}
		d.Failing = append(d.Failing, failing{e, endpointName(e.Endpoint), why, subscription})
	}
	return nil
}

// lastAnswer returns what an endpoint has answered to a transmission that still waits, as a role may see it, and the subscription.
func lastAnswer(lists domain.Lists, target string, role domain.Role) (why, subscription string, err error) {
	open, _, err := lists.Transmissions(domain.Page{Limit: openLook}, domain.Filter{Index: domain.IndexEndpoint, Value: target})
	for _, t := range open {
		if n := len(t.Records); n > 0 {
			why, subscription = t.Records[n-1].Response, t.SubscriptionName
			break
		}
	}
	if why != "" && !role.May(domain.MayChange) {
		why = domain.HiddenAnswer
	}
	return why, subscription, err
}

// endpointName is the name of an endpoint as people write it: REST/127.0.0.1/8080/in is REST 127.0.0.1:8080/in.
func endpointName(endpoint string) string {
	kind, at, _ := strings.Cut(endpoint, "/")
	host, at, _ := strings.Cut(at, "/")
	port, path, _ := strings.Cut(at, "/")
	switch {
	case host == "":
		return kind
	case port != "" && port != "0":
		host = net.JoinHostPort(host, port)
	}
	return strings.TrimSuffix(kind+" "+host+"/"+path, "/")
}

// recent are the last changes of entities. Changes of users and tokens are for auditors.
func (s overviewPage) recent(ctx context.Context, log LogSpan, role domain.Role) (list []recentChange, err error) {
	if log.Last == 0 {
		return nil, nil
	}
	most, auditor := recentLook, role.May(domain.MayAudit)
	if auditor {
		most = mostRecent
	}
	q := eventlog.Query{Log: log.Name, Limit: most, Looks: most, Bytes: mostLookedBytes, Newest: true}
	q.Each = func(event eventlog.Event) {
		kind, _ := event.Entity()
		if len(list) == mostRecent || (kind == "user" || kind == "token") && !auditor {
			return
		}
		e := newEntry(s.ledger, event)
		one := recentChange{Entry: e, Entity: entityPath(e)}
		if auditor {
			one.Path = "/ledger/" + url.PathEscape(log.Name) + "/" + strconv.FormatUint(e.Seq, 10)
		}
		list = append(list, one)
	}
	_, err = s.ledger.Page(ctx, q)
	return list, err
}
