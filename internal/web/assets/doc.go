// Package assets serves the stylesheets, scripts and icons of the web faces.
//
// Everything is embedded, joined into a few bundles and named by its content:
// /assets/panel.3f9c1a0b7d.css may be kept by a browser for ever, because another
// content would have another name. Sources live in files/; the table bundles says
// what each served file is made of. Every page loads house.css, the panel adds
// panel.css and the visitors' pages public.css; only the panel loads a script.
//
// # What is not ours
//
// files/htmx.js is htmx 2.0.11 (npm htmx.org, dist/htmx.min.js, 0BSD), unchanged.
// files/icons.svg and files/callouts.svg are made of icons from Lucide 1.62.0 (npm
// lucide-static, ISC, parts MIT). Their licences are in files/licenses.txt.
package assets
