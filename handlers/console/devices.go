package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/console/devicesearch"
	"ledge/handlers/console/marked"
	"ledge/handlers/console/silence"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

const (
	// mostPicked bounds the names that a picker suggests.
	mostPicked = 300
	// mostSearch bounds the text of a search, in bytes. Each link of the list has it.
	mostSearch = 1000
	// mostRowLabels bounds the labels of a device in the list, so that each has room for some letters.
	mostRowLabels = 2
)

// devices reads and changes devices, for their pages.
type devices struct {
	*web.Site
	state entities.Reader
}

// deviceList is the list of devices.
type deviceList struct {
	devices
	values  values
	listing *devicesearch.Index
	silent  *silence.Finder
}

func (s deviceList) Routes() []web.Route {
	return []web.Route{
		web.Get("/devices", domain.MayRead, s.Share(s.showDevices)),
		web.Post("/devices", domain.MayChange, s.changeDevices),
		web.Get(marked.Path, domain.MayChange, s.showRun),
		web.Post(marked.Path, domain.MayChange, s.continueRun),
	}
}

// devicesData is the list of devices with its filter.
type devicesData struct {
	devicesearch.Result
	Rows        []deviceRow
	Filter      devicesearch.Filter
	Sort        string
	Words       string // the terms of the filter that are words
	Terms       string // the other terms, which Chips shows
	Chips       []chip
	Headings    []heading
	Suggestions []string // texts of terms
	Profiles    bool     // there are profiles
	Removed     string   // the removed device that the search names; "" if there is none
	OnlySilent  bool     // the list is of silent devices
	Looking     bool     // it is not known yet which devices are silent
	// With returns the address of the list with a term more.
	With func(kind, value string) template.URL
	// PreviousPage and NextPage are the addresses of the pages before and after; "" if there is none.
	PreviousPage, NextPage template.URL
}

// deviceRow is a device in the list.
type deviceRow struct {
	devicesearch.Device
	Latest      *value // nil without readings
	Silent      bool   // for longer than usual, and then UsualPause is the longest of its usual pauses
	UsualPause  string
	Seen        template.HTML // how long ago the latest reading was, of a silent device the latest event
	Changed     template.HTML // how long ago the device was changed
	ShownLabels []string
	MoreLabels  int // how many labels the list does not show
}

// chip is a term of the filter, with the address of the list without it.
type chip struct {
	Text   string
	Remove template.URL
}

// addressOf returns the address of the list with one parameter changed.
func (d devicesData) addressOf(name, value string) template.URL {
	return web.Address("/devices", url.Values{"q": {d.Filter.String()}, "sort": {d.Sort}}, name, value)
}

// setLinks sets the links of the list.
func (d *devicesData) setLinks() {
	d.Words, d.Terms = d.Filter.Words().String(), d.Filter.Chips().String()
	for _, t := range d.Filter.Chips() {
		d.Chips = append(d.Chips, chip{t.String(), d.addressOf("q", d.Filter.Without(t).String())})
	}
	d.With = func(kind, value string) template.URL { return d.addressOf("q", d.Filter.With(kind, value).String()) }
	if d.Previous != "" {
		d.PreviousPage = d.addressOf("before", d.Previous)
	}
	if d.Next != "" {
		d.NextPage = d.addressOf("after", d.Next)
	}
	seen := "Last seen"
	if d.OnlySilent {
		seen = "Silent since"
	}
	// The orders are the ones of the index in memory. It has no times of readings. An order by these would read an index entry for each
	// device.
	d.Headings = []heading{
		d.headingOf("name", "Name", ""), d.headingOf("state", "State", "states"),
		{Label: seen, Class: "seen"}, {Label: "Latest", Class: "latest"},
		d.headingOf("profile", "Profile", "profile"), d.headingOf("service", "Service", "service"),
		{Label: "Labels", Class: "labels"}, d.headingOf("changed", "Changed", "changed"),
	}
}

// heading is the heading of a column. Address sorts by it; "" if the state has no index for that.
type heading struct {
	Label, Class, Aria string
	Address            template.URL
}

func (d devicesData) headingOf(order, label, class string) heading {
	h := heading{Label: label, Class: class}
	current, down := strings.CutPrefix(cmp.Or(d.Sort, "name"), "-")
	next := order
	if current == order {
		h.Aria = map[bool]string{false: "ascending", true: "descending"}[down != (order == "changed")] // the newest change is first
		if !down {
			next = "-" + order
		}
	}
	if next == "name" {
		next = "" // the order without a parameter
	}
	h.Address = d.addressOf("sort", next)
	return h
}

func (s deviceList) showDevices(c *gin.Context) error {
	return s.listDevices(c, http.StatusOK, "")
}

func (s deviceList) listDevices(c *gin.Context, status int, message string) error {
	q := c.Request.URL.Query()
	d := devicesData{Filter: searchFilter(q), Sort: q.Get("sort")}
	if !slices.Contains(devicesearch.Sorts, strings.TrimPrefix(d.Sort, "-")) {
		d.Sort = ""
	}
	query := devicesearch.Query{
		Filter: d.Filter, Sort: d.Sort, After: cutSearch(q, "after"), Before: cutSearch(q, "before"), Limit: web.PageRows,
	}
	found, silent, err := s.findDevices(c.Request.Context(), query, 0)
	if err != nil {
		return err
	}
	d.Result, d.OnlySilent = found, d.Filter.Has(devicesearch.KindIs, devicesearch.Silent)
	d.Looking = d.OnlySilent && !silent.Known
	if d.Rows, err = s.rowsOf(d.Devices, silent); err != nil {
		return err
	}
	if d.Matched == 0 && len(d.Filter) == 1 && len(d.Filter.Words()) == 1 {
		if name := strings.TrimSpace(cutSearch(q, "q")); s.listing.IsRemoved(name) {
			d.Removed = name
		}
	}
	d.setLinks()
	if err = s.suggest(&d); err != nil {
		return err
	}
	return s.Show(c, status, "devices", web.Page{Title: "Devices", Live: "devices&readings", Message: message, Data: d})
}

// rowsOf adds the latest reading to each device of a page. It reads one index entry and one reading for each.
func (s deviceList) rowsOf(found []devicesearch.Device, silent silence.Result) ([]deviceRow, error) {
	view, done := s.values.view()
	defer done()
	rows := make([]deviceRow, len(found))
	for i, device := range found {
		latest, _, err := view.Lists.Readings(domain.Page{Limit: 1}, domain.Filter{Index: domain.IndexDevice, Value: device.Name})
		if err != nil {
			return nil, err
		}
		rows[i] = rowOf(device, latest, silent, s.Now())
	}
	return rows, nil
}

// rowOf returns the row of a device; latest has its latest reading, if there is one.
func rowOf(device devicesearch.Device, latest []domain.Reading, silent silence.Result, now time.Time) deviceRow {
	r := deviceRow{Device: device, Changed: web.ShowAgo(device.Modified, now)}
	r.ShownLabels = device.Labels[:min(len(device.Labels), mostRowLabels)]
	r.MoreLabels = len(device.Labels) - len(r.ShownLabels) + device.Left
	if len(latest) > 0 {
		v := newValue(latest[0])
		r.Latest, r.Seen = &v, web.ShowAgo(v.At, now)
	}
	if one, is := silent.Devices[device.Name]; is {
		r.Silent, r.UsualPause, r.Seen = true, one.Pause(), web.ShowAgo(one.Last.UnixMilli(), now)
	}
	return r
}

// suggest fills the terms that the search suggests.
func (s deviceList) suggest(d *devicesData) error {
	profiles, services, err := s.pickers()
	for _, state := range devicesearch.States {
		d.Suggestions = append(d.Suggestions, devicesearch.Term{Kind: devicesearch.KindIs, Value: state}.String())
	}
	for _, one := range profiles {
		d.Suggestions = append(d.Suggestions, devicesearch.Term{Kind: devicesearch.KindProfile, Value: one.Value}.String())
	}
	for _, one := range services {
		d.Suggestions = append(d.Suggestions, devicesearch.Term{Kind: devicesearch.KindService, Value: one.Value}.String())
	}
	d.Profiles = len(profiles) > 0
	return err
}

// searchFilter returns the filter of an address: q is the text of its search field, in has the chips before it. Links may have a parameter
// for each kind of term instead, such as state=DOWN.
func searchFilter(q url.Values) devicesearch.Filter {
	f := devicesearch.Parse(cutSearch(q, "in") + " " + cutSearch(q, "q"))
	f = f.With(devicesearch.KindLabel, cutSearch(q, "label")).With(devicesearch.KindProfile, cutSearch(q, "profile"))
	return f.With(devicesearch.KindService, cutSearch(q, "service")).With(devicesearch.KindIs, cutSearch(q, "state"))
}

// cutSearch returns a parameter, cut to a length that bounds the work.
func cutSearch(q url.Values, name string) string {
	return q.Get(name)[:min(len(q.Get(name)), mostSearch)]
}

// findDevices finds a page of devices, and the silent ones. If the filter asks for these, they are the devices that became silent until a
// time in milliseconds since the Unix epoch. 0: until now.
func (s deviceList) findDevices(ctx context.Context, q devicesearch.Query, until int64) (
	found devicesearch.Result, silent silence.Result, err error,
) {
	only, wanted := q.Only, q.Filter.Has(devicesearch.KindIs, devicesearch.Silent)
	if only == nil || wanted { // the list marks silent devices, a run needs them if its filter does
		if silent, err = s.silent.Find(ctx); err != nil {
			return found, silent, err
		}
	}
	if wanted {
		q.Only = func(l *devicesearch.Device) bool {
			one, is := silent.Devices[l.Name]
			return is && (until == 0 || one.Begin().UnixMilli() <= until) && (only == nil || only(l))
		}
	}
	found, err = s.listing.Find(ctx, q)
	return found, silent, err
}

// pickers returns the names of profiles and services to choose from.
func (s devices) pickers() (profiles, services []web.Option, err error) {
	view, done := s.state()
	defer done()
	for list, into := range map[string]*[]web.Option{domain.ListProfiles: &profiles, domain.ListServices: &services} {
		names, _, err := view.Lists.Keys(list, domain.Page{Limit: mostPicked})
		if err != nil {
			return nil, nil, err
		}
		slices.SortFunc(names, devicesearch.Natural)
		*into = web.OptionsOf(names...)
	}
	return profiles, services, nil
}

// changeDevices does the same with all devices that are marked in the list. If all that match are marked, it leads to the page of the run.
func (s deviceList) changeDevices(c *gin.Context) error {
	names := c.PostFormArray("name")
	back, query := web.BackTo(c, "/devices")
	run := marked.Run{Filter: searchFilter(query), Action: c.PostForm("action"), Label: strings.TrimSpace(c.PostForm("label"))}
	switch wrong := run.Wrong(); {
	case wrong != "":
		return s.listDevices(c, http.StatusUnprocessableEntity, wrong)
	case c.PostForm("all") != "":
		return s.Redirect(c, run.Address())
	case len(names) == 0:
		return s.listDevices(c, http.StatusUnprocessableEntity, "No device is marked. Mark the devices first, then choose what to do.")
	case len(names) > web.PageRows:
		return s.listDevices(c, http.StatusUnprocessableEntity,
			fmt.Sprintf("%d devices are marked; change at most %d at a time, or all that match.", len(names), web.PageRows))
	}
	var wrong []string
	for _, name := range names {
		if a := s.changeDevice(c, run, name); !a.OK() {
			wrong = append(wrong, fmt.Sprintf("%s: %s", name, a.Message))
		}
	}
	if len(wrong) > 0 {
		return s.listDevices(c, http.StatusUnprocessableEntity, fmt.Sprintf("%d of %d devices are %s. Refused: %s",
			len(names)-len(wrong), len(names), run.Participle(), strings.Join(wrong, " · ")))
	}
	if len(names) == 1 {
		return s.Done(c, back, "1 device is %s.", run.Participle())
	}
	return s.Done(c, back, "%d devices are %s.", len(names), run.Participle())
}

// changeDevice changes one device, as a run does.
func (s deviceList) changeDevice(c *gin.Context, run marked.Run, name string) web.Answer {
	switch run.Action {
	case marked.Delete:
		return s.Call(c, metadataService, http.MethodDelete, web.APIPath("device/name/", name), nil)
	case marked.Lock:
		return s.patchDevice(c, map[string]any{"name": name, "adminState": domain.StateLocked})
	case marked.Unlock:
		return s.patchDevice(c, map[string]any{"name": name, "adminState": domain.StateUnlocked})
	}
	device, revision, err := s.device(c, name)
	if err != nil {
		return web.Answer{Status: web.StatusOf(domain.CodeOf(err)), Message: err.Error()}
	}
	labels := slices.DeleteFunc(slices.Clone(device.Labels), func(l string) bool { return l == run.Label })
	if run.Action == marked.AddLabel {
		labels = append(labels, run.Label)
	}
	return s.patchDevice(c, map[string]any{"name": name, "labels": append([]string{}, labels...)}, "If-Match", etag(revision))
}

// showRun shows a run before it begins, or after it was stopped.
func (s deviceList) showRun(c *gin.Context) error {
	run := marked.Read(c.Request.URL.Query())
	if wrong := run.Wrong(); wrong != "" {
		return s.Redirect(c, "/devices")
	}
	p := marked.Progress{Run: run, New: run.Seq == 0}
	found, err := s.findWaiting(c.Request.Context(), &p, 0)
	if err != nil {
		return err
	}
	if p.New {
		p.Seq, p.At, p.Of = found.Seq, s.Now().UnixMilli(), found.Matched
	}
	return s.showProgress(c, p)
}

// findWaiting finds the next devices of a run, and counts the ones that wait.
func (s deviceList) findWaiting(ctx context.Context, p *marked.Progress, limit int) (found devicesearch.Result, err error) {
	q := devicesearch.Query{Filter: p.Filter, Limit: limit, Only: p.Waits}
	if p.Next != "" {
		q.After = devicesearch.CursorByName(p.Next)
	}
	found, silent, err := s.findDevices(ctx, q, p.At)
	if err == nil && p.Filter.Has(devicesearch.KindIs, devicesearch.Silent) && !silent.Known {
		err = domain.Errorf(domain.Unavailable, "Ledge is still finding out which devices are silent; load this page again in some seconds")
	}
	p.Left = found.Matched
	return found, err
}

// continueRun changes the next devices of a run: at most 50, and for about two seconds. The page then sends the next request.
func (s deviceList) continueRun(c *gin.Context) error {
	p := marked.Progress{Run: marked.Read(c.Request.URL.Query())}
	if p.Wrong() != "" || p.Seq == 0 {
		return s.Redirect(c, "/devices")
	}
	p.Continue(c.Request.PostForm)
	if err := s.changeNext(c, &p); domain.CodeOf(err) == domain.Unauthenticated {
		return err
	} else if err != nil {
		p.Going, p.Stopped = false, err.Error()
	}
	return s.showProgress(c, p)
}

// changeNext changes the next devices of a run. It stops the run if all of them are refused, because the next ones would be too.
func (s deviceList) changeNext(c *gin.Context, p *marked.Progress) error {
	ctx := c.Request.Context()
	next, err := s.findWaiting(ctx, p, marked.Together)
	if err != nil {
		return err
	}
	end, changed := time.Now().Add(marked.Longest), 0
	for _, d := range next.Devices {
		if ctx.Err() != nil || time.Now().After(end) {
			break
		}
		a := s.changeDevice(c, p.Run, d.Name)
		switch {
		case a.Status == http.StatusUnauthorized:
			return domain.Errorf(domain.Unauthenticated, "%s", a.Message)
		case a.OK():
			changed++
		default:
			p.Refuse(d.Name, a.Message)
		}
		p.Next = d.Name
	}
	rest, err := s.findWaiting(ctx, p, 1)
	if p.Going = changed > 0 && len(rest.Devices) > 0; changed == 0 && len(rest.Devices) > 0 {
		p.Stopped = "All devices of the last request were refused, so the run has stopped."
	}
	return err
}

// runData is a run as its page shows it.
type runData struct {
	marked.Progress
	Title, Address, Participle string
	List                       string // the address of the list with the filter of the run
	// Done is how many devices of the run are as they should be, are gone, or were changed by others meanwhile.
	Done int
	// Full is how many devices the run had to change; at least 1, as the scale of a bar needs.
	Full        int
	MoreRefused int // how many refusals are not listed
}

func runDataOf(p marked.Progress) runData {
	d := runData{
		Progress: p, Title: p.Title(p.Of), Address: p.Address(), Participle: p.Participle(), List: "/devices",
		Done: max(0, p.Of-p.Left), Full: max(p.Of, p.Left, 1), MoreRefused: p.Refusals - len(p.Refused),
	}
	if len(p.Filter) > 0 {
		d.List += "?" + url.Values{"q": {p.Filter.String()}}.Encode()
	}
	return d
}

func (s deviceList) showProgress(c *gin.Context, p marked.Progress) error {
	d := runDataOf(p)
	return s.Show(c, http.StatusOK, "devices_all", web.Page{Title: d.Title, Data: d})
}

// patchDevice changes fields of a device.
func (s devices) patchDevice(c *gin.Context, fields map[string]any, header ...string) web.Answer {
	body := []any{map[string]any{"apiVersion": handlers.V2, "device": fields}}
	return s.Call(c, metadataService, http.MethodPatch, web.API+"/device", body, header...)
}

// device returns a whole device with its revision.
func (s devices) device(c *gin.Context, name string) (d domain.Device, revision uint64, err error) {
	d, row, err := web.Read(s.Memory(c), s.state, entities.Devices.Table, "device", name)
	return d, row.Revision, err
}

func etag(revision uint64) string { return fmt.Sprintf("%q", fmt.Sprint(revision)) }
