import type { Net } from '../skill/caps.ts';

/** A network in plain words, as a person and a model read it. */
export const netWords: Readonly<Record<Net, string>> = {
  deny: 'no internet',
  'openvibe-only': 'OpenVibe sites only',
  public: 'the internet',
};

/** The line on a sandbox skill's card. */
export const cardLine = "Runs code in a sandbox on your machine or OpenVibe's";
