package console

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
)

const (
	// mostReadingsOffset bounds how far a page of readings is from the newest. Further back a time is to be given.
	mostReadingsOffset = 10_000
	// galleryImages is how many images a page shows, and galleryLook among how many readings they are looked for.
	galleryImages, galleryLook = 48, 1000
)

// readingPages are the list of readings, and their values.
type readingPages struct {
	values
	refusals Refusals
}

func (s readingPages) Routes() []web.Route {
	return []web.Route{
		web.Get("/readings", domain.MayRead, s.Share(s.showReadings)),
		web.Get("/readings/csv", domain.MayRead, s.serveCSV),
		web.Get("/readings/:id/value", domain.MayRead, s.serveValue),
	}
}

// readingsData is a list of readings, or the images among them.
type readingsData struct {
	Device, Resource string
	Values           []value
	Total            int
	Offset           int
	Paused           bool
	Live             bool // the page follows new readings: only the first one does
	Gallery          bool
	Looked           int  // how many readings were searched for images
	Filtered         bool // not all readings are asked for
	Period           web.Period
	Refused          uint64 // events since the start
	CSVLabel         string
	Beyond           string // says that there are more readings than pages go to
	// OtherView is the address of the images or, from there, of the list. Pause is the address of the page that does not follow new readings
	// or, from there, does. Newer and Older are the addresses of the pages beside this one; "" if there is none.
	CSV, OtherView, Pause, Newer, Older template.URL
}

func (s readingPages) showReadings(c *gin.Context) error {
	q := web.Filters(c, "device", "resource", "from", "to", "paused", "view")
	d := readingsData{Device: q.Get("device"), Resource: q.Get("resource"), Period: web.PeriodOf(c), Refused: s.refusals.count()}
	d.Filtered = d.Device+d.Resource != "" || d.Period.Given()
	d.Paused, d.Gallery = q.Get("paused") == "1", q.Get("view") == "images"
	d.Offset, _ = strconv.Atoi(c.Query("offset"))
	d.Offset = min(max(d.Offset, 0), mostReadingsOffset)
	status := d.Period.Status()
	if status == http.StatusOK {
		if err := s.fillReadings(&d, d.filters()); err != nil {
			return err
		}
	}
	d.Live = !d.Paused && d.Offset == 0 && d.Period.To == ""
	d.setLinks(q)
	p := web.Page{Title: "Readings", Data: d}
	if d.Live && status == http.StatusOK {
		p.Live = "readings"
		if d.Device != "" {
			p.Live = template.URL("readings=" + url.QueryEscape(d.Device)) //nolint:gosec // escaped
		}
	}
	return s.Show(c, status, "readings", p)
}

// setLinks sets the links of the page with the query q.
func (d *readingsData) setLinks(q url.Values) {
	address := func(name, value string) template.URL { return web.Address("/readings", q, name, value) }
	d.OtherView, d.Pause = address("view", "images"), address("paused", "1")
	if d.Gallery {
		d.OtherView = address("view", "")
	}
	if d.Paused {
		d.Pause = address("paused", "")
	}
	if newer := d.Offset - web.PageRows; newer > 0 {
		d.Newer = address("offset", strconv.Itoa(newer))
	} else if d.Offset > 0 {
		d.Newer = address("", "")
	}
	if next := d.Offset + d.Looked; next < d.Total && next <= mostReadingsOffset {
		d.Older = address("offset", strconv.Itoa(next))
	} else if next < d.Total {
		d.Beyond = fmt.Sprintf("Pages end after %d readings. Choose a time to see earlier ones.", mostReadingsOffset)
	}
	export := maps.Clone(q)
	export.Del("paused")
	export.Del("view")
	d.CSV, d.CSVLabel = web.Address("/readings/csv", export, "", ""), web.ExportLabel(d.Total)
}

// filters are those of the query.
func (d *readingsData) filters() (all []domain.Filter) {
	device, resource := d.Device, d.Resource
	switch {
	case device != "" && resource != "":
		all = append(all, ofResource(device, resource))
	case device != "":
		all = append(all, domain.Filter{Index: domain.IndexDevice, Value: device})
	case resource != "":
		all = append(all, domain.Filter{Index: domain.IndexResource, Value: resource})
	}
	if d.Period.Given() {
		all = append(all, domain.Between(d.Period.First.UnixNano(), d.Period.Last.UnixNano()))
	}
	return all
}

// fillReadings reads the page.
func (s readingPages) fillReadings(d *readingsData, filters []domain.Filter) error {
	limit := web.PageRows
	if d.Gallery {
		limit = galleryLook
	}
	list, total, err := s.readings(domain.Page{Offset: d.Offset, Limit: limit}, filters...)
	if domain.CodeOf(err) == domain.OutOfRange { // there are fewer by now
		d.Offset = 0
		list, total, err = s.readings(domain.Page{Limit: limit}, filters...)
	}
	if err != nil {
		return err
	}
	d.Total = total
	for _, r := range list {
		d.Looked++
		if !d.Gallery || kindOf(r.ValueType, r.MediaType) == kindImage {
			d.Values = append(d.Values, newValue(r))
		}
		if d.Gallery && len(d.Values) == galleryImages {
			break
		}
	}
	return nil
}

const (
	// exportedAtOnce is how many readings core-data is asked for at a time: its largest page.
	exportedAtOnce = 1000
	// byteOrderMark has spreadsheets read a file as UTF-8.
	byteOrderMark = "\ufeff"
)

// serveCSV answers with the readings of the list as CSV of core-data, the newest first, page after page. Readings that come meanwhile are
// not among them, because the pages have an end in time.
func (s readingPages) serveCSV(c *gin.Context) error {
	period := web.PeriodOf(c)
	if status := period.Status(); status != http.StatusOK {
		return s.ShowError(c, status, cmp.Or(period.FromWrong, period.ToWrong))
	}
	if period.To == "" {
		period.Last = s.Now()
	}
	device, resource := web.FilterText(c, "device"), web.FilterText(c, "resource")
	path := exportPath(device, resource, period)
	out := &exported{ResponseWriter: c.Writer, header: http.Header{}, name: exportName(device, resource)}
	accept := "text/csv"
	for offset := 0; offset < web.MostExported; offset += exportedAtOnce {
		out.status, out.page = 0, 0
		page := fmt.Sprintf("?offset=%d&limit=%d", offset, exportedAtOnce)
		if err := s.ForwardTo(c, out, dataService, http.MethodGet, path+page, "Accept", accept); err != nil {
			return err
		}
		switch {
		case out.status != http.StatusOK && offset == 0:
			return s.ShowError(c, out.status, "The readings cannot be read. Try again.")
		case out.status == http.StatusRequestedRangeNotSatisfiable || out.status == http.StatusOK && out.page == 0: // the end
			return nil
		case out.status != http.StatusOK:
			panic(http.ErrAbortHandler) // so that nobody takes a part for the whole
		}
		accept = "text/csv;header=absent"
	}
	return nil
}

// exportPath is the path of a list of readings at core-data. device and resource may be empty.
func exportPath(device, resource string, p web.Period) string {
	path := web.API + "/reading"
	if device != "" {
		path += "/device/name/" + url.PathEscape(device)
	}
	if resource != "" {
		path += "/resourceName/" + url.PathEscape(resource)
	}
	return path + fmt.Sprintf("/start/%d/end/%d", p.First.UnixNano(), p.Last.UnixNano())
}

// exportName is the name of the file with the readings of a device, of a resource, or of both. Either may be empty.
func exportName(device, resource string) string {
	parts := slices.DeleteFunc([]string{"readings", device, resource}, func(s string) bool { return s == "" })
	return strings.Join(parts, "-") + ".csv"
}

// exported passes pages of core-data on as one file. A page that is refused has a status and no text.
type exported struct {
	http.ResponseWriter
	name   string      // of the file
	header http.Header // of a page
	status int         // of a page
	page   int         // bytes of a page
	begun  bool
}

func (w *exported) Header() http.Header { return w.header }

func (w *exported) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

func (w *exported) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.status != http.StatusOK {
		return len(p), nil
	}
	if w.page += len(p); !w.begun {
		w.begun = true
		h := w.ResponseWriter.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": w.name}))
		w.ResponseWriter.WriteHeader(http.StatusOK)
		if _, err := io.WriteString(w.ResponseWriter, byteOrderMark); err != nil {
			return 0, err
		}
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController], which sets the deadlines of the client.
func (w *exported) Unwrap() http.ResponseWriter { return w.ResponseWriter }
