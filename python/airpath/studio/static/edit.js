// Everything that makes runs from here: form, text, variants, link. A page of a finished run has none of it.

import { Bench } from "studio/bench";
import { Compare } from "studio/compare";
import { byId } from "studio/dom";
import { Experiment } from "studio/experiment";
import { Form } from "studio/form";
import { Lessons } from "studio/lesson";
import { Share } from "studio/share";
import { tabs } from "studio/tabs";
import { TextView } from "studio/text";

/**
 * @param {import("studio/store").Store} store
 * @param {import("studio/source").Engine} engine
 * @param {(name: string) => void} open a tab next to the plots
 */
export async function edit(store, engine, open) {
  const [schema, listed] = await Promise.all([engine.schema(), engine.scenarios()]);
  byId("form").hidden = byId("bench").hidden = false;
  const experiment = new Experiment(store, engine);
  const form = new Form(store, experiment, schema);
  new Bench(store, experiment, form, listed);
  new TextView(store, experiment);
  new Compare(store, open);
  new Lessons(store, experiment);
  tabs(byId("ways"));
  await new Share(store, experiment, listed).open(location.hash);
  const studies = await engine.studies();
  if (!studies.length) return;
  const { showStudies } = await import("studio/studies");
  showStudies(studies, (settings) => experiment.open(settings));
}
