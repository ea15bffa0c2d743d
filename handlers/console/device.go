package console

import (
	"cmp"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

const (
	// mostShownResources is how many resources of a device have their latest value shown.
	mostShownResources = 60
	// chartPoints is how many numbers a chart shows, stripImages how many images there are below the latest, textValues how many
	// other values are listed.
	chartPoints, stripImages, textValues = 200, 12, 20
)

// devicePage is the page of a device, with a form for values.
type devicePage struct {
	devices
	values     values
	history    history
	deviceREST string // the URL at which it listens
}

func (s devicePage) Routes() []web.Route {
	return []web.Route{
		web.Get("/devices/:name", domain.MayRead, s.Share(s.showDevice)),
		web.Post("/devices/:name/values/:resource", domain.MayPost, s.postValue).Streamed(),
	}
}

// deviceData is one device with its values.
type deviceData struct {
	domain.Device
	Address string // of the page
	// Reload is the address of the page with the resource that it shows in full. Parts that are loaded anew stay about that resource.
	Reload    string
	Resources []resourceValue
	// More is how many resources are not shown.
	More     int
	Selected *selected
	// Known reports whether the profile exists, PostsHere whether values can be posted to the device at device-rest.
	Known, PostsHere bool
	// Revision is the event that made the device as it is; Set is the change that set its admin state.
	Revision uint64
	Set      stateChange
}

// resourceValue is a resource with its latest value, if there is one.
type resourceValue struct {
	domain.DeviceResource
	Latest  *value
	Kind    string // says how values of the resource are shown
	Current bool
}

// selected is the resource that is shown in full.
type selected struct {
	resourceValue
	Values []value // the newest first
	Total  int
	Rest   int // the number of values that are not shown
	Tree   *node
	Text   string // the latest value if it is a text
	Posted string // a text that was refused
	Post   *postTo
	Error  string
}

func (s devicePage) showDevice(c *gin.Context) error {
	return s.showDevicePage(c, http.StatusOK, "", "")
}

// showDevicePage shows the device in the path. wrong is the reason of a refusal of the value posted.
func (s devicePage) showDevicePage(c *gin.Context, status int, wrong, posted string) error {
	d, left, err := s.deviceData(c, c.Param("name"))
	if err == nil {
		err = s.Memory(c).Hold(web.LogWork)
	}
	if err != nil {
		return err
	}
	if d.Set, err = s.history.stateSet(c.Request.Context(), d.Name, d.Revision); err != nil {
		return err
	}
	if !mayAudit(c) {
		d.Set.Actor = domain.IdentityOf(d.Set.Actor)
	}
	s.Memory(c).Release()
	if err := s.latest(&d); err != nil {
		return err
	}
	if err := s.selectResource(c, &d); err != nil {
		return err
	}
	if d.Selected != nil {
		d.Selected.Posted, d.Selected.Error = posted, wrong
		d.Reload += "?resource=" + url.QueryEscape(d.Selected.Name)
		if d.PostsHere && d.Selected.Properties.ReadWrite != "W" {
			d.Selected.Post = s.postTo(c, d.Name, d.Selected.DeviceResource)
		}
	}
	name := url.QueryEscape(d.Name)
	return s.Show(c, status, "device", web.Page{
		Title: d.Name, Message: wrong, Data: d, Left: left,
		Live: template.URL("devices=" + name + "&readings=" + name), //nolint:gosec // escaped
	})
}

// deviceData reads a device with the first resources of its profile. left says what is left out of the device.
func (s devicePage) deviceData(c *gin.Context, name string) (d deviceData, left string, err error) {
	if d.Device, d.Revision, err = s.device(c, name); err != nil {
		return d, "", err
	}
	k := web.ForPage()
	d.Device = web.Cut(k, &d.Device)
	d.Address, d.PostsHere = "/devices/"+url.PathEscape(d.Name), d.ServiceName == domain.DeviceREST
	d.Reload = d.Address
	var p domain.Profile
	row, err := entities.LookUp(s.Memory(c), s.state, entities.Profiles.Table, d.ProfileName, &p)
	if err != nil {
		return d, "", err
	}
	d.Known = row.OK
	shown := p.DeviceResources[:min(len(p.DeviceResources), mostShownResources)]
	for i := range shown {
		shown[i].Attributes = nil
	}
	for _, r := range web.Cut(&web.Cutter{Entries: mostShownResources, Text: web.RowText, Room: web.ShownBytes}, &shown) {
		d.Resources = append(d.Resources, resourceValue{DeviceResource: r, Kind: kindOf(r.Properties.ValueType, r.Properties.MediaType)})
	}
	d.More = len(p.DeviceResources) - len(d.Resources)
	return d, k.Note(web.APIPath("device/name/", name)), nil
}

// latest reads the latest value of each resource.
func (s devicePage) latest(d *deviceData) error {
	view, done := s.values.view()
	defer done()
	for i := range d.Resources {
		r := &d.Resources[i]
		list, _, err := view.Lists.Readings(domain.Page{Limit: 1}, ofResource(d.Name, r.Name))
		if err != nil {
			return err
		}
		if len(list) > 0 {
			v := newValue(list[0])
			r.Latest, r.Kind = &v, v.Kind
		}
	}
	return nil
}

func ofResource(device, resource string) domain.Filter {
	return domain.Filter{Index: domain.IndexDeviceResource, Value: domain.DeviceResourceKey(device, resource)}
}

// selectResource shows one resource in full: the one in the query, else the first image, else the first that has a value.
func (s devicePage) selectResource(c *gin.Context, d *deviceData) error {
	if len(d.Resources) == 0 {
		return nil
	}
	asked := cmp.Or(c.Param("resource"), c.Query("resource"))
	at := slices.IndexFunc(d.Resources, func(r resourceValue) bool { return r.Name == asked })
	if at < 0 {
		at = slices.IndexFunc(d.Resources, func(r resourceValue) bool { return r.Latest != nil && r.Kind == kindImage })
	}
	if at < 0 {
		at = max(0, slices.IndexFunc(d.Resources, func(r resourceValue) bool { return r.Latest != nil }))
	}
	d.Resources[at].Current = true
	chosen := &selected{resourceValue: d.Resources[at]}
	d.Selected = chosen
	limit := map[string]int{kindNumber: chartPoints, kindImage: stripImages + 1}[chosen.Kind]
	list, total, err := s.values.readings(domain.Page{Limit: cmp.Or(limit, textValues)}, ofResource(d.Name, chosen.Name))
	if err != nil {
		return err
	}
	chosen.Values, chosen.Total, chosen.Rest = valuesOf(list), total, total-len(list)
	if chosen.Latest == nil || chosen.Kind != kindJSON && chosen.Kind != kindText {
		return nil
	}
	if text, ok := s.values.textOf(c, *chosen.Latest); ok {
		chosen.Text = string(text)
		if chosen.Kind == kindJSON {
			chosen.Tree = treeOf(text)
		}
	}
	return nil
}

// postValue posts a file, or a text, to a resource, as a third party does.
func (s devicePage) postValue(c *gin.Context) error {
	a, text := s.postPart(c)
	if !a.OK() {
		memory := s.Bodies.EntryMemory(c)
		defer memory.Release()
		text, _ = web.Repeat([]byte(text), memory)
		return s.showDevicePage(c, a.Status, a.Message, text)
	}
	return s.Done(c, "/devices/"+url.PathEscape(c.Param("name"))+"?resource="+url.QueryEscape(c.Param("resource")), "The value is posted.")
}

// postPart posts the first part of a form that is not empty. It streams a file.
func (s devicePage) postPart(c *gin.Context) (a web.Answer, text string) {
	none := web.Answer{Status: http.StatusUnprocessableEntity, Message: "Choose a file, or write a value."}
	refuse := func(err error) (web.Answer, string) {
		return web.Answer{Status: web.StatusOf(domain.CodeOf(err)), Message: err.Error()}, ""
	}
	form, upload, ok, err := s.Bodies.Upload(c, s.ResourceBytes)
	if err != nil {
		return refuse(err)
	}
	if !ok {
		return none, ""
	}
	for {
		part, err := form.NextPart()
		if err != nil && upload.Err != nil {
			return refuse(upload.Err)
		}
		if err != nil {
			return none, ""
		}
		switch {
		case part.FormName() == "text":
			body, err := io.ReadAll(io.LimitReader(part, treeBytes+1))
			if err != nil || len(body) > treeBytes {
				message := fmt.Sprintf("The text is longer than %d KiB. Post it as a file.", treeBytes>>10)
				return web.Answer{Status: http.StatusRequestEntityTooLarge, Message: message}, ""
			}
			if text = string(body); text != "" {
				return s.sendValue(c, body, ""), text
			}
		case part.FormName() == "file" && part.FileName() != "":
			if a = s.sendValue(c, part, fileType(part)); upload.Err != nil {
				return refuse(upload.Err)
			}
			return a, ""
		}
	}
}

// fileType is the media type of an uploaded file, as its browser says it.
func fileType(part *multipart.Part) string {
	if t := part.Header.Get("Content-Type"); t != "application/octet-stream" {
		return t
	}
	return ""
}

// sendValue posts a value. The media type is that of the profile, unless that leaves it open; mediaType is the one of the upload; it may
// be empty.
func (s devicePage) sendValue(c *gin.Context, body any, mediaType string) web.Answer {
	d, _, _ := s.deviceData(c, c.Param("name"))
	i := slices.IndexFunc(d.Resources, func(r resourceValue) bool { return r.Name == c.Param("resource") })
	if i >= 0 { // else the service says what is wrong
		mediaType = postType(d.Resources[i].Properties, mediaType)
	}
	path := web.API + "/resource/" + url.PathEscape(c.Param("name")) + "/" + url.PathEscape(c.Param("resource"))
	return s.Call(c, deviceRESTService, http.MethodPost, path, body, "Content-Type", cmp.Or(mediaType, "application/octet-stream"))
}

// postType is the media type with which a value is posted; upload is that of an uploaded file, if it is known.
func postType(p domain.ResourceProperties, upload string) string {
	switch {
	case p.ValueType == domain.Binary:
		return cmp.Or(upload, p.MediaType)
	case p.ValueType == "Object", strings.HasSuffix(p.ValueType, "Array"):
		return "application/json"
	}
	return "text/plain"
}

// postTo says how other programs post values to a resource.
type postTo struct {
	URL, Command string
	// Local says that device-rest listens on this machine only.
	Local bool
}

func (s devicePage) postTo(c *gin.Context, device string, r domain.DeviceResource) *postTo {
	at, err := url.Parse(s.deviceREST)
	if err != nil || at.Host == "" {
		return nil
	}
	p := &postTo{}
	if ip, err := netip.ParseAddr(at.Hostname()); err == nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		p.Local = ip.IsLoopback()
		if browser := hostOf(c); !p.Local || isLocal(browser) {
			at.Host = net.JoinHostPort(browser, at.Port())
		}
	}
	at.Path, at.RawPath = web.API+"/resource/"+device+"/"+r.Name, web.API+"/resource/"+url.PathEscape(device)+"/"+url.PathEscape(r.Name)
	p.URL = at.String()
	login := ""
	if s.TLS {
		login = " --cacert ledge-ca.pem -H 'Authorization: Bearer TOKEN'"
	}
	mediaType := cmp.Or(postType(r.Properties, ""), "application/octet-stream")
	header, example := shellQuote("Content-Type: "+mediaType), exampleOf(r.Properties.ValueType)
	p.Command = fmt.Sprintf("curl%s -H %s %s %s", login, header, example, shellQuote(p.URL))
	return p
}

// isLocal reports whether a host is this machine itself.
func isLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// exampleOf is the option of curl for a value of a type.
func exampleOf(valueType string) string {
	switch {
	case valueType == domain.Binary:
		return "--data-binary @FILE"
	case valueType == "Object":
		return `-d '{"key": "value"}'`
	case valueType == "BoolArray":
		return "-d '[true, false]'"
	case valueType == "StringArray":
		return `-d '["a", "b"]'`
	case strings.HasSuffix(valueType, "Array"):
		return "-d '[1, 2]'"
	case valueType == "Bool":
		return "-d true"
	case valueType == "String":
		return "-d 'text'"
	}
	return "-d 21"
}
