// Package charts is the page with the charts of a device: numbers of its resources over time.
//
// A chart has values as they are, or, of more than mostPoints, the sums of core-data: minimum, mean and maximum of each stretch of time.
// The page has a table for each chart, and the script draws the numbers of the tables.
package charts

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/data/aggregate"
	"ledge/handlers/entities"
)

const (
	// mostCharts is how many resources a page shows, mostChoices how many resources of a device it offers.
	mostCharts, mostChoices = 4, 60
	// mostPoints is how many values a chart shows as they are. Of more it shows mostBuckets sums.
	mostPoints, mostBuckets = 1000, 400
	// sumDigits is how many digits of a sum people read.
	sumDigits = 6
	// mostLive is how many values are read for a page that follows new ones: about 5 ms of a processor each time.
	mostLive = 50_000
)

// Pages serves the charts.
type Pages struct {
	*web.Site
	state, values entities.Reader
}

// New returns the page; state reads entities, values readings.
func New(site *web.Site, state, values entities.Reader) Pages { return Pages{site, state, values} }

// Routes are those of the page.
func (s Pages) Routes() []web.Route {
	return []web.Route{web.Get("/devices/:name/chart", domain.MayRead, s.Share(s.showCharts))}
}

// pageData is the content of the page.
type pageData struct {
	Device  string
	Address string // of the page of the device
	// Detail is the address of the same charts of another time, without the time.
	Detail  string
	Choices []choice
	// More is how many resources are not offered. Cut says that more were chosen than are shown.
	More   int
	Cut    bool
	Spans  []spanLink
	Span   string // the chosen one, empty for a period
	Period web.Period
	Charts []*chart
	// Values is how many values the charts are made of.
	Values int
	Live   bool
	from   int64
	to     int64
}

// choice is a resource that can be shown.
type choice struct {
	Name, Units string
	Chosen      bool
}

// spanLink leads to the same charts of another time.
type spanLink struct {
	Label   string
	At      string
	Current bool
}

// spanOfTime is a time until now.
type spanOfTime struct {
	name, label string
	length      time.Duration // 0 is all
}

// spans are the times to choose from.
var spans = []spanOfTime{
	{"1h", "1 hour", time.Hour},
	{"24h", "24 hours", 24 * time.Hour},
	{"7d", "7 days", 7 * 24 * time.Hour},
	{"all", "All", 0},
}

// usualSpan is the index of the one that is shown without a choice.
const usualSpan = 1

func (s Pages) showCharts(c *gin.Context) error {
	d := &pageData{Period: web.PeriodOf(c)}
	status := d.Period.Status()
	err := s.chooseResources(c, d)
	if err != nil {
		return err
	}
	d.setTime(c.Query("span"), s.Now())
	names := d.chosenNames()
	d.makeLinks(names)
	for i, name := range names {
		if status != http.StatusOK {
			break
		}
		one := &chart{ID: fmt.Sprint("series-", i), Resource: name, Device: d.Device}
		if err := s.fillChart(c, one, d.from, d.to); err != nil {
			return err
		}
		d.Charts, d.Values = append(d.Charts, one), d.Values+one.Total
	}
	d.setAxis()
	d.Live = status == http.StatusOK && d.Period.To == "" && d.Values <= mostLive
	p := web.Page{Title: "Charts of " + d.Device, Data: d}
	if d.Live {
		p.Live = template.URL("readings=" + url.QueryEscape(d.Device)) //nolint:gosec // escaped
	}
	return s.Show(c, status, "chart", p)
}

// chooseResources reads the device and the resources with numbers, of which the query chooses some. Without a choice it is the first.
func (s Pages) chooseResources(c *gin.Context, d *pageData) error {
	device, _, err := web.Read(s.Memory(c), s.state, entities.Devices.Table, "device", c.Param("name"))
	if err != nil {
		return err
	}
	d.Device, d.Address = device.Name, "/devices/"+url.PathEscape(device.Name)
	var p domain.Profile
	if _, err := entities.LookUp(s.Memory(c), s.state, entities.Profiles.Table, device.ProfileName, &p); err != nil {
		return err
	}
	asked := c.QueryArray("resource")
	d.Cut = len(asked) > mostCharts
	asked = asked[:min(len(asked), mostCharts)]
	for i, name := range asked {
		asked[i] = web.Beginning(name, web.MostFilter)
	}
	for _, r := range p.DeviceResources {
		chosen := slices.Contains(asked, r.Name)
		switch {
		case !domain.IsNumeric(r.Properties.ValueType):
		case len(d.Choices) >= mostChoices && !chosen:
			d.More++
		default:
			d.Choices = append(d.Choices, choice{r.Name, web.Beginning(r.Properties.Units, web.MostFilter), chosen})
		}
	}
	for _, name := range asked { // one that the profile does not have any more
		if name != "" && !slices.ContainsFunc(d.Choices, func(o choice) bool { return o.Name == name }) {
			d.Choices = append(d.Choices, choice{Name: name, Chosen: true})
		}
	}
	if len(asked) == 0 && len(d.Choices) > 0 {
		d.Choices[0].Chosen = true
	}
	return nil
}

// chosenNames are those of the resources to show.
func (d *pageData) chosenNames() (names []string) {
	for _, o := range d.Choices {
		if o.Chosen {
			names = append(names, o.Name)
		}
	}
	return names
}

// setTime sets the time of the charts: the period, if there is one, or else the span until now. All has open ends.
func (d *pageData) setTime(span string, now time.Time) {
	d.from, d.to = math.MinInt64, now.UnixNano()
	if d.Period.Given() {
		if d.Period.From != "" {
			d.from = d.Period.First.UnixNano()
		}
		if d.Period.To != "" {
			d.to = d.Period.Last.UnixNano()
		}
		return
	}
	i := slices.IndexFunc(spans, func(o spanOfTime) bool { return o.name == span })
	if i < 0 {
		i = usualSpan
	}
	d.Span = spans[i].name
	if length := spans[i].length; length > 0 {
		d.from = now.Add(-length).UnixNano()
	}
}

// makeLinks makes the links to other times of the charts of some resources.
func (d *pageData) makeLinks(names []string) {
	for _, o := range spans {
		q := url.Values{"resource": names, "span": {o.name}}
		d.Spans = append(d.Spans, spanLink{o.label, d.Address + "/chart?" + q.Encode(), o.name == d.Span})
	}
	d.Detail = d.Address + "/chart?" + url.Values{"resource": names}.Encode()
}

// setAxis gives all charts the same first and last time. With open ends these are those of the values.
func (d *pageData) setAxis() {
	from, to := d.from, d.to
	if from == math.MinInt64 {
		from = to
		for _, one := range d.Charts {
			if n := len(one.Points); n > 0 {
				from = min(from, one.Points[n-1].At*1e6) // the oldest
			}
		}
	}
	for _, one := range d.Charts {
		one.From, one.To = from/1e6, to/1e6
	}
}

// chart is one resource.
type chart struct {
	ID, Device, Resource, Units string
	Total                       int
	// Summed says that each point is several values, of a stretch of time of a length, in words.
	Summed   bool
	Stretch  string
	Points   []point // the newest first
	Others   int     // values that are not numbers
	Shown    int     // values that are numbers
	Wrong    string  // why the values cannot be read
	Newest   int64   // the time of the newest value of all times, if there is none of this time; in milliseconds since the Unix epoch
	From, To int64   // of the axis, in milliseconds
	CSV      string  // the address of the values as CSV, and the text of the link to it
	CSVLabel string
}

// point is a value, or several of a stretch of time. A value has no minimum and no maximum.
type point struct {
	At             int64 // in milliseconds since the Unix epoch; of a stretch its middle
	Count          int
	Min, Mean, Max number
	Gap            bool // there are no values for a while before it
}

// number is a number as the script reads it, and as people do.
type number struct{ Exact, Short string }

// formatNumber returns a number. digits are the ones that people read; -1 for all.
func formatNumber(n float64, digits int) number {
	return number{strconv.FormatFloat(n, 'g', -1, 64), strconv.FormatFloat(n, 'g', digits, 64)}
}

// fillChart reads the points of a chart.
func (s Pages) fillChart(c *gin.Context, one *chart, from, to int64) error {
	series := domain.Series{Device: one.Device, Resource: one.Resource, From: from, To: to}
	one.CSV = csvAddress(series)
	newest, err := s.countValues(series, one)
	switch {
	case err != nil:
	case one.Total == 0:
		one.Newest = newest
	case one.Total <= mostPoints:
		err = s.readValues(series, one)
	default:
		err = s.readSums(c, series, one)
	}
	one.Shown, one.CSVLabel = one.Total-one.Others, web.ExportLabel(one.Total)
	return err
}

// csvAddress returns the address of the values as CSV.
func csvAddress(series domain.Series) string {
	q := url.Values{"device": {series.Device}, "resource": {series.Resource}, "to": {formatTime(series.To)}}
	if series.From != math.MinInt64 {
		q.Set("from", formatTime(series.From))
	}
	return "/readings/csv?" + q.Encode()
}

func formatTime(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// countValues counts the values, and reads their unit. Of a time without values it returns the time of the newest value of all times, in
// milliseconds.
func (s Pages) countValues(series domain.Series, one *chart) (newest int64, err error) {
	view, done := s.values()
	defer done()
	list, total, err := view.Lists.Readings(domain.Page{Limit: 1}, series.Filters()...)
	if err != nil {
		return 0, err
	}
	if one.Total = total; total > 0 {
		one.Units = web.Beginning(list[0].Units, web.MostFilter)
		return 0, nil
	}
	series.From, series.To = math.MinInt64, math.MaxInt64
	if list, _, err = view.Lists.Readings(domain.Page{Limit: 1}, series.Filters()...); err == nil && len(list) > 0 {
		newest = list[0].Origin / 1e6
	}
	return newest, err
}

// readValues reads values as they are.
func (s Pages) readValues(series domain.Series, one *chart) error {
	view, done := s.values()
	defer done()
	one.Total = 0
	_, err := view.Lists.Numbers(series, "", mostPoints, func(origin int64, value float64) {
		if one.Total++; math.IsNaN(value) {
			one.Others++
			return
		}
		one.Points = append(one.Points, point{At: origin / 1e6, Count: 1, Mean: formatNumber(value, -1)})
	})
	markGaps(one.Points)
	slices.Reverse(one.Points)
	return err
}

// gapFactor is how many times the usual time has no value at a gap.
const gapFactor = 5

// markGaps marks points, the oldest first, that come much later than the one before: gapFactor times the median.
func markGaps(points []point) {
	if len(points) < gapFactor {
		return
	}
	apart := make([]int64, len(points)-1)
	for i := range apart {
		apart[i] = points[i+1].At - points[i].At
	}
	usual := slices.Sorted(slices.Values(apart))[len(apart)/2]
	for i, ms := range apart {
		points[i+1].Gap = ms > gapFactor*max(usual, 1)
	}
}

// readSums asks core-data for the sums. A refusal is on the page.
func (s Pages) readSums(c *gin.Context, series domain.Series, one *chart) error {
	path := web.APIPath("reading/aggregate/device/name/", series.Device) + "/resourceName/" + url.PathEscape(series.Resource) +
		fmt.Sprintf("/start/%d/end/%d?buckets=%d", series.From, series.To, mostBuckets)
	a := s.Call(c, "core-data", http.MethodGet, path, nil)
	if !a.OK() {
		one.Wrong = web.Sentence(a.Message)
		return nil
	}
	var answer struct{ Aggregate aggregate.Aggregate }
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		return fmt.Errorf("read an aggregate: %w", err)
	}
	one.takeBuckets(answer.Aggregate)
	return nil
}

// takeBuckets makes points of the buckets.
func (c *chart) takeBuckets(a aggregate.Aggregate) {
	c.Summed, c.Stretch, c.Total = true, nameStretch(time.Duration(a.Interval)), a.Total
	before := int64(math.MinInt64)
	for _, b := range a.Buckets {
		c.Others += b.Others
		if b.Mean == nil {
			continue
		}
		c.Points = append(c.Points, point{
			At: (b.Start + a.Interval/2) / 1e6, Count: b.Count - b.Others,
			Min: formatNumber(*b.Min, sumDigits), Mean: formatNumber(*b.Mean, sumDigits), Max: formatNumber(*b.Max, sumDigits),
			Gap: before != math.MinInt64 && b.Start-before > a.Interval,
		})
		before = b.Start
	}
	slices.Reverse(c.Points)
}

// nameStretch returns the length of a stretch of time, in words.
func nameStretch(length time.Duration) string {
	switch {
	case length >= 48*time.Hour:
		return fmt.Sprintf("%.1f days", length.Hours()/24)
	case length >= 2*time.Hour:
		return fmt.Sprintf("%.1f hours", length.Hours())
	case length >= 2*time.Minute:
		return fmt.Sprintf("%.1f minutes", length.Minutes())
	}
	return fmt.Sprintf("%.3g seconds", length.Seconds())
}
