package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/bodies"
	"ledge/handlers/console/profileyaml"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

// profilePages are the pages of device profiles.
type profilePages struct {
	*web.Site
	state entities.Reader
}

func (s profilePages) Routes() []web.Route {
	return []web.Route{
		web.Get("/profiles", domain.MayRead, s.Share(s.list().ShowList)),
		web.Get("/profiles/+upload", domain.MayChange, s.showUpload),
		web.Post("/profiles/+upload", domain.MayChange, s.uploadProfile).WithUpload(),
		web.Get("/profiles/:name", domain.MayRead, s.Share(s.profile)),
		web.Get("/profiles/:name/edit", domain.MayChange, s.showEditProfile),
		web.Post("/profiles/:name/edit", domain.MayChange, s.editProfile).WithUpload(),
		web.Post("/profiles/:name/delete", domain.MayChange, s.deleteProfile),
	}
}

// profileRow is a profile in the list, without its resources and commands.
type profileRow struct {
	Name      string   `json:"name"`
	Model     string   `json:"model"`
	Resources int      `json:"resources"`
	Labels    []string `json:"labels"`
	Modified  int64    `json:"modified"`
}

func rowOfProfile(p *domain.Profile) any {
	resources := len(p.DeviceResources)
	p.DeviceResources, p.DeviceCommands = nil, nil
	cut := web.CutRow(p)
	return profileRow{cut.Name, cut.Manufacturer + " " + cut.Model, resources, cut.Labels, cut.Modified}
}

func (s profilePages) list() web.Entity[domain.Profile] {
	return web.Entity[domain.Profile]{
		Site: s.Site, State: s.state, Kind: entities.Profiles, One: "profile", Path: "/profiles", Add: "upload", Cut: rowOfProfile,
		Empty: "There is no profile yet.", EmptyAdd: ` <a href="/profiles/+upload">Upload a profile</a> first: every device needs one.`,
		NoMatch: `No profile matches. <a href="/profiles">Show all profiles</a>`,
		Filters: web.Labelled(domain.IndexManufacturer, "Manufacturer", domain.IndexModel, "Model", domain.IndexLabel, "Label"),
		Columns: []web.Column{
			{Name: "model", Heading: "Manufacturer and model", Label: "Model"}, {Name: "resources", Heading: "Resources", Label: "Resources"},
			{Name: "labels", Heading: "Labels"}, {Name: "modified", Heading: "Changed", Label: "Changed"},
		},
	}
}

const (
	// mostShown is how many resources of a profile a page shows. A profile with more cannot be edited on a page.
	mostShown = 2000
	// mostYAML bounds the YAML of a profile below its resources, in bytes, and mostTexts the texts of the resources.
	mostYAML, mostTexts = 1 << 20, 512 << 10
)

type profileData struct {
	Profile                   domain.Profile
	Resources                 []domain.DeviceResource // the first ones
	Count                     int                     // of all resources
	YAML                      string                  // empty if there are more, or it is too large for the page
	Devices, Watchers         []string
	DeviceCount, WatcherCount int
}

func (s profilePages) profile(c *gin.Context) error { return s.showProfile(c, http.StatusOK, "") }

func (s profilePages) showProfile(c *gin.Context, status int, message string) error {
	d, _, err := s.readProfile(c, c.Param("name"))
	if err != nil {
		return err
	}
	k := &web.Cutter{Entries: mostShown, Text: web.ShownText, Room: mostTexts}
	if d.Profile = web.Cut(k, &d.Profile); len(d.YAML) > mostYAML {
		d.YAML = ""
	}
	d.Resources = d.Profile.DeviceResources
	return s.Show(c, status, "profile", web.Page{
		Title: "Profile " + d.Profile.Name, Live: "profiles&devices&watchers", Message: message, Data: d,
		Left: k.Note(web.APIPath("deviceprofile/name/", d.Profile.Name)),
	})
}

// mostEncoded bounds the memory of a profile's YAML while it is made, in bytes.
const mostEncoded = 96 << 20

// readProfile returns a profile, its revision, what uses it, and its YAML unless that is too large.
func (s profilePages) readProfile(c *gin.Context, name string) (d profileData, revision uint64, err error) {
	m := s.Memory(c)
	p, row, err := web.Read(m, s.state, entities.Profiles.Table, "profile", name)
	if err == nil {
		d.Profile, d.Count = p, len(p.DeviceResources)
		err = s.findUsers(&d)
	}
	if n := profileyaml.Bytes(p); err == nil && d.Count <= mostShown && n <= mostEncoded {
		if err = m.Hold(n + int64(row.Size)); err == nil {
			d.YAML, err = profileyaml.Encode(p)
		}
	}
	return d, row.Revision, err
}

// findUsers finds the devices and provision watchers that use a profile.
func (s profilePages) findUsers(d *profileData) (err error) {
	view, done := s.state()
	defer done()
	by := domain.Filter{Index: domain.IndexProfile, Value: d.Profile.Name}
	if d.Devices, d.DeviceCount, err = view.Lists.Keys(domain.ListDevices, domain.Page{Limit: web.PageRows}, by); err != nil {
		return err
	}
	d.Watchers, d.WatcherCount, err = view.Lists.Keys(domain.ListWatchers, domain.Page{Limit: web.PageRows}, by)
	return err
}

// profileForm is the text of a profile while it is added or edited. Name is empty for a new one.
type profileForm struct {
	Name, YAML, Revision string
	Faults               []profileyaml.Fault
}

func (s profilePages) showUpload(c *gin.Context) error {
	return s.Show(c, http.StatusOK, "profile_form", web.Page{Title: "Upload a profile", Data: profileForm{}})
}

// uploadProfile takes a file, or the text of the form if there is no file.
func (s profilePages) uploadProfile(c *gin.Context) error {
	form, err := s.ReadUpload(c, "yaml", s.UploadBytes)
	if err != nil {
		return err
	}
	memory := s.Bodies.EntryMemory(c)
	defer memory.Release()
	a := s.sendProfile(c, http.MethodPost, form.Text, "")
	if !a.OK() {
		return s.refuseProfile(c, "Upload a profile", a, form.Text, profileForm{}, memory)
	}
	to := "/profiles"
	if name := profileyaml.Name(form.Text, s.UploadBytes, memory.HoldBytes); name != "" {
		to += "/" + name
	}
	return s.Done(c, to, "%s", strings.TrimSpace("The profile is uploaded. "+ignoredKeys(a)))
}

// refuseProfile shows a form again whose text the service has refused.
func (s profilePages) refuseProfile(c *gin.Context, title string, a web.Answer, text []byte, form profileForm, memory *bodies.EntryMemory) error {
	var ok bool
	if form.YAML, ok = web.Repeat(text, memory); !ok {
		a.Message = web.Sentence(a.Message) + " " + web.TooLongToRepeat
	}
	form.Faults = profileyaml.Faults(text, a.Message, s.UploadBytes, memory.HoldBytes)
	return s.Show(c, a.Status, "profile_form", web.Page{Title: title, Message: a.Message, Data: form})
}

// sendProfile uploads the text as the file of a multipart form, as any client does.
func (s profilePages) sendProfile(c *gin.Context, method string, text []byte, revision string) web.Answer {
	var body bytes.Buffer
	body.Grow(len(text) + bytes.MinRead)
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "profile.yaml")
	if err == nil {
		_, err = part.Write(text)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return web.Answer{Status: http.StatusInternalServerError, Message: err.Error()}
	}
	header := append(web.IfMatch(revision), "Content-Type", form.FormDataContentType())
	return web.ChangedMeanwhile(s.Call(c, metadataService, method, web.API+"/deviceprofile/uploadfile", &body, header...))
}

func (s profilePages) showEditProfile(c *gin.Context) error {
	d, revision, err := s.readProfile(c, c.Param("name"))
	if err != nil {
		return err
	}
	if d.YAML == "" {
		return s.showProfile(c, http.StatusUnprocessableEntity, fmt.Sprintf("A profile with more than %d resources, or with very many attributes, cannot be edited here. "+
			"Upload it again with PUT %s/deviceprofile/uploadfile.", mostShown, web.API))
	}
	return s.Show(c, http.StatusOK, "profile_form", web.Page{Title: "Edit profile " + d.Profile.Name, Data: profileForm{
		Name: d.Profile.Name, YAML: d.YAML, Revision: strconv.FormatUint(revision, 10),
	}})
}

func (s profilePages) editProfile(c *gin.Context) error {
	sent, err := s.ReadUpload(c, "yaml", s.UploadBytes)
	if err != nil {
		return err
	}
	form := profileForm{Name: c.Param("name"), Revision: sent.Fields["revision"]}
	memory := s.Bodies.EntryMemory(c)
	defer memory.Release()
	a := web.Answer{Status: http.StatusUnprocessableEntity}
	if name := profileyaml.Name(sent.Text, s.UploadBytes, memory.HoldBytes); name != "" && name != form.Name {
		a.Message = "The name of a profile cannot be changed. Upload a new profile, or restore the name " + form.Name + "."
	} else {
		a = s.sendProfile(c, http.MethodPut, sent.Text, form.Revision)
	}
	if !a.OK() {
		return s.refuseProfile(c, "Edit profile "+form.Name, a, sent.Text, form, memory)
	}
	return s.Done(c, "/profiles/"+form.Name, "%s", strings.TrimSpace("The profile is changed. "+ignoredKeys(a)))
}

// ignoredKeys is the sentence about the keys of a profile that were ignored; "" if there are none.
func ignoredKeys(a web.Answer) string {
	var e handlers.Envelope
	if json.Unmarshal(a.Body, &e) != nil || e.Message == "" {
		return ""
	}
	return strings.ToUpper(e.Message[:1]) + e.Message[1:] + "."
}

// deleteProfile shows the profile again after a refusal; the page shows its users.
func (s profilePages) deleteProfile(c *gin.Context) error {
	a := s.Call(c, metadataService, http.MethodDelete, web.APIPath("deviceprofile/name/", c.Param("name")), nil)
	if !a.OK() && a.Status != http.StatusNotFound {
		return s.showProfile(c, a.Status, a.Message)
	}
	return s.Finish(c, a, "/profiles", "The profile %s is deleted.", c.Param("name"))
}
